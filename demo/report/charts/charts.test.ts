import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { areaChart } from './area-chart.ts';
import { barChart } from './bar-chart.ts';
import { lineChart } from './line-chart.ts';
import { linear, multiples, roundStep, roundUp, timeStep } from './scale.ts';
import { element, escaped } from './svg.ts';

describe('scales', () => {
  test('a line from a domain to a range, also backwards, and of no length', () => {
    const scale = linear([10, 20], [100, 0]);
    expect([scale(10), scale(15), scale(20)]).toEqual([100, 50, 0]);
    expect(linear([5, 5], [0, 9])(5)).toBe(0);
  });

  test.each([
    [100, 5, 20],
    [93, 5, 20],
    [1, 5, 0.2],
    [0.014, 5, 0.005],
    [7, 5, 2],
    [50_000, 5, 10_000],
    [0, 5, 1],
  ])('steps of a span of %d in about %i: %d', (span, count, step) => {
    expect(roundStep(span, count)).toBeCloseTo(step, 10);
  });

  test.each([
    [20, 12, 2],
    [95, 12, 10],
    [600, 12, 60],
    [86_400, 9, 3 * 3_600],
    [4 * 86_400, 9, 43_200],
    [30 * 86_400, 9, 5 * 86_400],
    [150 * 86_400, 9, 20 * 86_400],
  ])('%d seconds in at most %i steps of time: %d', (span, count, step) => {
    expect(timeStep(span, count)).toBe(step);
  });

  test('multiples of a step in an interval, ends included', () => {
    expect(multiples([0, 1], 0.2)).toHaveLength(6);
    expect(multiples([15, 42], 10)).toEqual([20, 30, 40]);
    expect(multiples([1, 2], 10)).toEqual([]);
    expect([roundUp(41, 20), roundUp(40, 20), roundUp(0, 20)]).toEqual([60, 40, 20]);
  });

  test('whatever the span: the ticks are a few, and the last covers it', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e12, noNaN: true }), (span) => {
        const step = roundStep(span, 5);
        const ticks = multiples([0, roundUp(span, step)], step);
        expect(ticks.length).toBeGreaterThanOrEqual(3);
        expect(ticks.length).toBeLessThanOrEqual(7);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(span * 0.999);
      }),
    );
  });
});

describe('elements', () => {
  test('text and attributes cannot break out', () => {
    expect(escaped(`<a href='x'>&"`)).toBe('&lt;a href=&#39;x&#39;&gt;&amp;&quot;');
    expect(element('text', { x: 1.2345, title: '"><script>' }, escaped('<b>'))).toBe(
      '<text x="1.2" title="&quot;&gt;&lt;script&gt;">&lt;b&gt;</text>',
    );
    expect(element('line', { x1: 0 })).toBe('<line x1="0"/>');
  });
});

const AXES = {
  x: { label: 'seconds', domain: [0, 10], ticks: [0, 5, 10].map((at) => ({ at, text: `${at} s` })) },
  y: { label: 'tasks', domain: [0, 4], ticks: [0, 2, 4].map((at) => ({ at, text: `${at}` })) },
} as const;
const NAMES = { id: 'it', title: 'What <it> shows', description: 'In words' };

describe('lines', () => {
  const drawn = lineChart({
    ...NAMES,
    ...AXES,
    series: [
      { name: 'first', tone: 'cpu', values: [0, 4, 2], note: 'peak 4' },
      { name: 'second', tone: 'gpu', values: [1, 1, 1], filled: true },
    ],
    at: [0, 5, 10],
    tell: (index) => `place ${index}`,
  });

  test('hold each value until the next, from edge to edge and top to bottom', () => {
    expect(drawn).toContain('<path class="line cpu" d="M64 244H504V28H944V136"/>');
    expect(drawn).toContain('<path class="area gpu" d="M64 244L64 190H504V190H944V190H944V244Z"/>');
  });

  test('have axes with units, a legend, and words for who cannot see', () => {
    expect(drawn).toContain('role="img" aria-labelledby="it-title it-desc"');
    expect(drawn).toContain('<title id="it-title">What &lt;it&gt; shows</title><desc id="it-desc">In words</desc>');
    expect(drawn).toContain('<li><i class="swatch cpu"></i>first <small>peak 4</small></li>');
    for (const word of ['>seconds<', '>tasks<', '>5 s<', '>2<']) expect(drawn).toContain(word);
    expect(drawn.match(/class="hover"/g)).toHaveLength(3);
    expect(drawn).toContain('<title>place 1</title>');
  });

  test('end where their values do, have levels from edge to edge, and dots whose words stay inside', () => {
    const marked = lineChart({
      ...NAMES,
      ...AXES,
      series: [{ name: 'short', tone: 'cpu', values: [0, 4] }],
      at: [0, 5, 10],
      levels: [{ value: 2, text: 'threshold <2>' }],
      marks: [
        { at: 5, value: 4, tone: 'cpu', text: 'n1' },
        { at: 9, value: 2, tone: 'gpu', text: 'n<2>' },
      ],
      tell: () => '',
    });
    expect(marked).toContain('<path class="line cpu" d="M64 244H504V28"/>');
    expect(marked).toContain('<line class="level" x1="64" x2="944" y1="136" y2="136"/>');
    expect(marked).toContain('<text x="70" y="130">threshold &lt;2&gt;</text>');
    expect(marked).toContain(
      '<circle class="dot cpu" cx="504" cy="28" r="4.5"/><text x="511" y="45" text-anchor="start">n1<',
    );
    expect(marked).toContain(
      '<circle class="dot gpu" cx="856" cy="136" r="4.5"/><text x="849" y="153" text-anchor="end">n&lt;2&gt;<',
    );
  });

  test('of points that fall on one another keep the largest, so that no peak is lost and the file stays small', () => {
    const at = Array.from({ length: 20_000 }, (_, index) => index / 2_000);
    const values = at.map((_, index) => (index === 777 ? 4 : 1));
    const series = [{ name: 'one', tone: 'cpu', values }];
    const dense = lineChart({ ...NAMES, ...AXES, series, at, tell: () => '' });
    expect(dense).toMatch(/H[\d.]+V28H/);
    expect(dense.length).toBeLessThan(80_000);
  });
});

test('bars are stacked from below, in the order of the series, and what is nothing is not drawn', () => {
  const drawn = barChart({
    ...NAMES,
    ...AXES,
    series: [
      { name: 'applied', tone: 'applied' },
      { name: 'partial', tone: 'partial' },
    ],
    bars: [
      { from: 0, to: 5, values: [2, 1], tell: 'first' },
      { from: 5, to: 10, values: [0, 4], tell: 'second' },
    ],
  });
  expect(drawn.match(/class="bar applied"/g)).toHaveLength(1);
  expect(drawn).toContain('<rect class="bar applied" x="65" y="136" width="438" height="107"/>');
  expect(drawn).toContain('<rect class="bar partial" x="65" y="82" width="438" height="53"/>');
  expect(drawn).toContain('<rect class="bar partial" x="505" y="28" width="438" height="215"/>');
  expect(drawn).toContain('<title>second</title>');
});

test('areas are stacked steps, lines lie over them, and what happened has a sign', () => {
  const drawn = areaChart({
    ...NAMES,
    ...AXES,
    series: [
      { name: 'active', tone: 'active', values: [1, 2, 2] },
      { name: 'held', tone: 'held', values: [0, 1, 1] },
    ],
    lines: [{ name: 'target', tone: 'target', values: [1, 2, 2] }],
    at: [0, 5, 8],
    events: [
      { at: 5, sign: '1', tell: 'a <machine> fails' },
      { at: 5, sign: '2', tell: 'at the same time' },
    ],
    tell: (index) => `place ${index}`,
  });
  expect(drawn).toContain('<path class="stack active" d="M64 190L504 190L504 136L944 136L944 244L64 244Z"/>');
  expect(drawn).toContain(
    '<path class="stack held" d="M64 190L504 190L504 82L944 82L944 136L504 136L504 190L64 190Z"/>',
  );
  expect(drawn).toContain('<path class="line target" d="M64 190L504 190L504 136L944 136"/>');
  expect(drawn).toContain('<title>a &lt;machine&gt; fails</title>');
  // The second is below the first.
  expect([...drawn.matchAll(/class="sign" cx="504" cy="([\d.]+)"/g)].map(([, y]) => Number(y))).toEqual([36.5, 55.5]);
  expect(drawn.match(/class="hover"/g)).toHaveLength(3);
});
