import { describe, expect, test } from 'vitest';
import type { BadNodeFacts, BadNodesRun } from '../run/bad-nodes.ts';
import { exampleBadNodes, exampleRun } from '../testing/example-run.ts';
import { reportPage } from './page.ts';
import { summaryTable } from './summary-table.ts';

function withBadNodes(badNodes: BadNodesRun = exampleBadNodes()) {
  const { facts, summary } = exampleRun({ badNodes });
  return { summary, page: reportPage(summary, facts.replay, facts.workload), lines: summaryTable(summary).split('\n') };
}

/** The example with the first of its bad nodes changed. */
function changed(change: Partial<BadNodeFacts>): BadNodesRun {
  const example = exampleBadNodes();
  return { ...example, nodes: example.nodes.map((node, at) => (at === 0 ? { ...node, ...change } : node)) };
}

describe('the summary', () => {
  test('has of each node its refusals, its mark and what got through after it', () => {
    const { badNodes, exitStatus } = withBadNodes().summary;
    expect(exitStatus).toBe(0);
    expect(badNodes).toMatchObject({
      pool: 'demo',
      tracker: { threshold: 40, windowSeconds: 120, defaultThreshold: 100, defaultWindowSeconds: 300 },
      withoutTracker: { plans: 80, refusals: 80, placed: 0, eligibility: 'eligible' },
      asExpected: true,
    });
    expect(badNodes?.nodes[0]).toMatchObject({
      nodeId: 'bad-node-1',
      refusals: 40,
      refusedLater: 1,
      marked: { planId: 'demo-worker-1-20', index: 20, afterSeconds: 5.9 },
      evaluations: { refused: 3, mostRefusals: 40, placedAfterMark: 2 },
      eligibility: 'ineligible',
    });
    expect(badNodes?.nodes[0]?.refusedAfterSeconds.slice(0, 2)).toEqual([2, 2.1]);
  });

  test('without the option says nothing of them', () => {
    const { facts, summary } = exampleRun();
    expect(summary).not.toHaveProperty('badNodes');
    expect(summaryTable(summary)).not.toMatch(/bad/i);
    expect(reportPage(summary, facts.replay, facts.workload)).not.toMatch(/bad.node/i);
  });

  test.each([
    ['no result says that a node was made ineligible', { mark: undefined }, 'no result made it ineligible'],
    ['its account does not', { eligibility: 'eligible' as const }, 'in the tables it is eligible'],
    ['its events do not', { event: undefined }, 'its last event is none'],
  ])('is not well when %s', (_, change, told) => {
    const { summary, lines } = withBadNodes(changed(change));
    expect(summary.exitStatus).toBe(1);
    const line = lines.find((text) => text.startsWith('  bad-node-1 '));
    expect(line).toContain('refusals, BROKEN: ');
    expect(line).toContain(told);
  });
});

test('the table says when each was made ineligible and by what, what waited, and what is without the tracker', () => {
  const { lines } = withBadNodes({ ...exampleBadNodes(), othersMarked: ['node-007'] });
  const first = lines.indexOf('Bad nodes');
  expect(lines.slice(first, lines.indexOf('DynamoDB, the applier') - 1)).toEqual([
    'Bad nodes',
    '  threshold                   40  refusals in 120 s: lowered for the demo, usually 100 in 300 s',
    '  bad-node-1                  40  refusals, then ineligible, 5.9 s into the replay, by plan demo-worker-1-20; 1 more by plans under way',
    '                               3  tasks waited for it, refused up to 40 times; 2 placed after that',
    '  bad-node-2                  40  refusals, then ineligible, 12.9 s into the replay, by plan demo-worker-0-33',
    '                               3  tasks waited for it, refused up to 40 times; 2 placed after that',
    '  others                       1  made ineligible since workers collided on them: node-007',
    '  without tracker             80  refusals of 4 tasks in 80 plans, then given up: 0 placed, the node still eligible',
    '  to see why                      berth node show demo bad-node-1',
    '  to bring one back               berth node eligibility demo bad-node-1 eligible',
  ]);
});

describe('the page', () => {
  test('draws a line for each node that ends in a dot where it was made ineligible, and the threshold', () => {
    const { page } = withBadNodes();
    const chart = page.slice(page.indexOf('aria-labelledby="bad-nodes-title'));
    const drawing = chart.slice(0, chart.indexOf('</svg>'));
    expect(drawing.match(/class="line /g)).toHaveLength(2);
    expect(drawing.match(/class="dot /g)).toHaveLength(2);
    expect(drawing).toContain('threshold 40');
    // 20 s of replay on 880 pixels: marked after 5.9 s and 12.9 s, at 40 of 50 refusals.
    for (const [tone, x] of [
      ['code-0', '323.6'],
      ['code-1', '631.6'],
    ] as const) {
      expect(drawing).toContain(`<circle class="dot ${tone}" cx="${x}" cy="71.2" r="4.5"/>`);
      expect(drawing).toMatch(new RegExp(`class="line ${tone}" d="M64 244H[^"]+H${x}V71.2"`));
    }
    expect(page).toContain('bad-node-1 <small>40 refusals, ineligible after 5.9 s</small>');
  });

  test('a node that was never made ineligible has a line to the end, and no dot', () => {
    const { page } = withBadNodes(changed({ mark: undefined }));
    expect(page).toContain('bad-node-1 <small>40 refusals, still eligible</small>');
    expect(page.match(/class="dot /g)).toHaveLength(1);
    expect(page).toMatch(/class="line code-0" d="M64 244H[^"]+H944V71.2"/);
  });

  test('has a table of them, the comparison, and how to bring one back', () => {
    const { page } = withBadNodes();
    expect(page).toContain(
      '<td>bad-node-2</td><td class="number">40</td><td>after 12.9 s</td><td>demo-worker-0-33</td>',
    );
    expect(page).toContain(
      '<td>tracker off: a node like it</td><td class="number">4</td><td>refused 80 times, then given up</td>',
    );
    expect(page).toContain('berth node eligibility demo bad-node-1 eligible');
    expect(page).toContain('or since they are bad');
  });

  test('tells ten lines apart by tone and dash', () => {
    const example = exampleBadNodes();
    const [node] = example.nodes as [BadNodeFacts];
    const nodes = Array.from({ length: 10 }, (_, at) => ({ ...node, nodeId: `bad-node-${at + 1}` }));
    const tones = [...withBadNodes({ ...example, nodes }).page.matchAll(/class="line (code-\d(?: again)?)"/g)];
    expect(new Set(tones.map(([, tone]) => tone)).size).toBe(10);
  });

  test('of names that would be markup adds none', () => {
    const { page } = withBadNodes({ ...changed({ nodeId: '<b>bad' }), othersMarked: ['<i>'] });
    expect(page).not.toMatch(/<b>bad|<i>/);
  });
});
