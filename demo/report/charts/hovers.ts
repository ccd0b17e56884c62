import type { Axis, Plot } from './chart.ts';
import { element, escaped } from './svg.ts';

/** Invisible strips, each with what it stands for: browsers show it beside the pointer, without a script. */
export function hovers(
  { x, top, bottom, right }: Plot,
  at: readonly number[],
  { domain }: Axis,
  tell: (index: number) => string,
): string[] {
  const strips: string[] = [];
  let from = x(domain[0]);
  at.forEach((_, index) => {
    const next = at[index + 1];
    const to = next === undefined ? right : x(next);
    if (to - from < 3 && next !== undefined) return;
    const title = element('title', {}, escaped(tell(index)));
    strips.push(
      element('rect', { class: 'hover', x: from, y: top, width: Math.max(0, to - from), height: bottom - top }, title),
    );
    from = to;
  });
  return strips;
}
