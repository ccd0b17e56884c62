import { figure } from '../numbers.ts';
import { escaped } from './charts/svg.ts';

/** A card of the page: a title, a sentence, and below it drawings, markup already. */
export function section(title: string, text: string, ...drawings: readonly string[]): string {
  const figures = drawings.map((drawing) => `<figure>${drawing}</figure>`).join('');
  return `<section><h2>${escaped(title)}</h2><p>${escaped(text)}</p>${figures}</section>`;
}

export type Cell = string | number;

/** A table whose numbers stand at the right, and whose times are not broken; nothing if it has no rows. */
export function table(title: string, heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return '';
  const numeric = (column: number) => rows.every((row) => typeof row[column] === 'number');
  const name = (column: number) => heads[column] === 'Such as';
  const times = (column: number) => rows.every((row) => /^(\d\d:\d\d|–)$/.test(String(row[column])));
  const kind = (column: number) => {
    if (numeric(column)) return ' class="number"';
    return times(column) ? ' class="time"' : name(column) ? ' class="name"' : '';
  };
  const head = heads.map((name, column) => `<th scope="col"${kind(column)}>${escaped(name)}</th>`).join('');
  const cell = (value: Cell, column: number) =>
    `<td${kind(column)}>${escaped(typeof value === 'number' ? figure(value) : value)}</td>`;
  const body = rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`).join('');
  return `<section><h2>${escaped(title)}</h2><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></section>`;
}
