import { escaped } from './charts/svg.ts';
import { PAGE_STYLE } from './page-style.ts';

/** A page that needs nothing else, in light and dark: its title, a sentence below it, and markup. */
export function pageFrame(title: string, lead: string, ...parts: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Berth: ${escaped(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<header>
<p class="brand">Berth</p>
<h1>${escaped(title)}</h1>
<p class="lead">${escaped(lead)}</p>
</header>
${parts.join('\n')}
</main>
</body>
</html>
`;
}

/** A figure that is seen first: its value, what it is, what stands below that, and `good` or `bad` where it is one of these. */
export type Tile = readonly [value: string, name: string, note: string, tone?: string];

export function tileList(tiles: readonly Tile[]): string {
  const tile = ([value, name, note, tone = '']: Tile) =>
    `<li class="${tone}"><strong>${escaped(value)}</strong><span>${escaped(name)}</span><small>${escaped(note)}</small></li>`;
  return `<ul class="tiles">${tiles.map(tile).join('')}</ul>`;
}
