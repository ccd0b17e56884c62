/** What the report of the node scaler draws: classes of nodes, states of servers. */
const SCALER_TONES = [
  'active',
  'pending',
  'draining',
  'held',
  'lost',
  'allocated',
  'ready',
  'starting',
  'ending',
  'target',
];

/** The page's look. Colours are told apart by people who see no red or no green, on light and on dark. */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --page: #f7f7f4; --card: #fff; --ink: #16161a; --soft: #5b5b63; --line: #e3e3dd; --axis: #a9a9a2;
  --cpu: #2a6fd0; --memory: #0e9276; --gpu: #d9622b;
  --running: #2a6fd0; --waiting: #c98a00;
  --applied: #2a6fd0; --partial: #e0a526; --rejected: #c8403a;
  --code-0: #5b4bb5; --code-1: #d9622b; --code-2: #0e9276; --code-3: #c2498c; --code-4: #8a8a83;
  --active: #2a6fd0; --pending: #e0a526; --draining: #7a5cc0; --held: #8a8a83; --lost: #c8403a;
  --allocated: #2a6fd0; --ready: #3aa98a; --starting: #e0a526; --ending: #8a8a83; --target: #16161a;
  --good: #0b7a4b; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #131316; --card: #1c1c20; --ink: #f1f1ee; --soft: #a5a5ad; --line: #2e2e34; --axis: #5c5c64;
    --cpu: #5b9bf0; --memory: #2fb795; --gpu: #ef8450;
    --running: #5b9bf0; --waiting: #e5b13c;
    --applied: #5b9bf0; --partial: #e5b13c; --rejected: #ef6a62;
    --code-0: #9a8cf0; --code-1: #ef8450; --code-2: #2fb795; --code-3: #e57ab4; --code-4: #8f8f98;
    --active: #5b9bf0; --pending: #e5b13c; --draining: #a78bfa; --held: #8f8f98; --lost: #ef6a62;
    --allocated: #5b9bf0; --ready: #2fb795; --starting: #e5b13c; --ending: #8f8f98; --target: #f1f1ee;
    --good: #4cc38a; --bad: #ff8a80;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 40px 20px 64px; }
.brand { margin: 0; font-weight: 650; letter-spacing: .04em; color: var(--cpu); }
h1 { margin: 2px 0 8px; font-size: 2.1rem; line-height: 1.15; letter-spacing: -.015em; }
.lead { margin: 0 0 28px; max-width: 46rem; color: var(--soft); overflow-wrap: anywhere; }
h2 { margin: 0; font-size: 1.06rem; }
section { margin-top: 20px; padding: 18px 20px 16px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
section > p { margin: 2px 0 10px; color: var(--soft); font-size: .92rem; }
figure { margin: 0; overflow-x: auto; }
figure + figure { margin-top: 14px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(175px, 1fr)); gap: 12px; margin: 0; padding: 0; list-style: none; }
.tiles li { display: flex; flex-direction: column; padding: 14px 16px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tiles strong { font-size: 1.7rem; line-height: 1.15; font-weight: 650; font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
.tiles span { font-weight: 550; }
.tiles small { color: var(--soft); font-size: .82rem; line-height: 1.35; margin-top: 4px; }
.tiles .good strong { color: var(--good); }
.tiles .bad strong { color: var(--bad); }
.columns { columns: 2 440px; column-gap: 16px; }
.columns section { break-inside: avoid; display: inline-block; width: 100%; margin-top: 16px; }
table { width: 100%; margin-top: 10px; border-collapse: collapse; font-size: .92rem; }
th, td { padding: 6px 14px 6px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-weight: 550; font-size: .84rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.name { white-space: nowrap; color: var(--soft); }
th:last-child, td:last-child { padding-right: 0; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 6px 0 2px; padding: 0; list-style: none; font-size: .9rem; }
.legend li { display: flex; align-items: center; gap: 7px; }
.legend small { color: var(--soft); font-size: .84rem; }
.legend .swatch { width: 12px; height: 12px; border-radius: 3px; flex: none; }
.chart { display: block; width: 100%; min-width: 640px; height: auto; font: 12.5px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
.chart text { fill: var(--soft); font-variant-numeric: tabular-nums; }
.chart .unit { font-weight: 550; }
.chart .grid { stroke: var(--line); }
.chart .base, .chart .mark { stroke: var(--axis); }
.chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart .line.again { stroke-dasharray: 7 4; }
.swatch.again { opacity: .55; }
.chart .level { stroke: var(--bad); stroke-dasharray: 3 4; }
.chart .area { opacity: .16; }
.chart .stack { opacity: .85; }
.chart .line.target { stroke-dasharray: 6 3; }
.chart .event { stroke: var(--soft); stroke-dasharray: 2 3; pointer-events: none; }
.chart .sign { fill: var(--card); stroke: var(--soft); }
.chart .sign-text { fill: var(--ink); font-size: 10.5px; font-weight: 600; }
.chart .hover { fill: transparent; }
.chart .hover:hover { fill: var(--ink); fill-opacity: .07; }
.chart .empty { font-size: 14px; }
${tones(['cpu', 'memory', 'gpu', 'running', 'waiting', 'applied', 'partial', 'rejected', 'code-0', 'code-1', 'code-2', 'code-3', 'code-4', ...SCALER_TONES])}
@media print { body { background: none; } section, .tiles li { break-inside: avoid; } }
`;

function tones(names: readonly string[]): string {
  return names
    .map(
      (name) =>
        `.chart .line.${name} { stroke: var(--${name}); } .chart .area.${name}, .chart .stack.${name}, .chart .bar.${name}, .chart .dot.${name} { fill: var(--${name}); } .swatch.${name} { background: var(--${name}); }`,
    )
    .join('\n');
}
