import { expect, test } from 'vitest';
import { exampleFacts } from '../testing/example-scene.ts';
import type { ScalerFacts } from './facts.ts';
import { scalerSummaryOf } from './summary.ts';
import { scalerTable } from './table.ts';

test('a scene in which all went as it has to', () => {
  const summary = scalerSummaryOf(exampleFacts());
  expect(summary.problems).toEqual([]);
  expect(summary).toMatchObject({
    kind: 'ScalerDemoSummary',
    scene: { from: '2026-01-16T15:00:00.000Z', until: '2026-01-16T16:20:00.000Z', replicas: 2, peak: 5 },
    nodes: {
      start: { active: 2 },
      peak: { active: 5 },
      end: { active: 2, held: 1, draining: 1 },
      reachedAt: '2026-01-16T15:19:00.000Z',
      neededAt: '2026-01-16T15:20:00.000Z',
    },
    games: {
      begun: 4,
      played: 2,
      stillPlayed: 1,
      lostWithMachine: 1,
      endedByBerth: 0,
      waited: 1,
      longestWaitSeconds: 75,
    },
    servers: { deletedByBerth: 1, withSession: 0 },
    machines: { ordered: 4, ended: 2, endedEmpty: 2, lost: 1 },
    races: { won: 1, kept: 1 },
    operatorsNode: { node: 'n2', touched: 0, stillCordoned: true },
    ticks: {
      all: 80,
      idle: 70,
      busy: 5,
      twin: 1,
      blind: 2,
      killed: 1,
      held: 1,
      requests: { idle: { kubernetes: { median: 4, most: 4 } } },
    },
    exitStatus: 0,
  });
  expect(summary.incidents.map(({ outcome }) => outcome)).toEqual([
    'the status says CapacityShortage from 16:17 to 16:17; the order stands',
    'goes on at 16:17, once the lease has run out; nothing is ordered again',
    'all nodes are active at 16:19',
    'another is ordered at 16:25; this one is left alone',
    'its group replaces it: all nodes are active at 16:36',
    'the delete is refused, and they play on',
    'one of them runs, the other is told that it is past; 3 changes, none twice',
    '2 ticks change nothing, and the status says ObservationFailed',
    '1 brought back from draining',
  ]);
});

type Change = (facts: ScalerFacts) => Partial<ScalerFacts>;

const PROBLEMS: readonly (readonly [string, Change])[] = [
  [
    'I10, no machine is ended before the intent',
    ({ deeds }) => ({ deeds: deeds.map((deed) => ({ ...deed, intended: false })) }),
  ],
  [
    'had not come to 5 active nodes when they were needed',
    ({ samples }) => ({ samples: samples.filter(({ nodes }) => nodes.active < 5) }),
  ],
  ['has 3 active nodes at the end, not 2', ({ samples }) => ({ samples: samples.slice(0, 64) })],
  [
    'n3 is still there at the end, draining, and no game is on it',
    ({ left }) => ({ left: left.map((one) => ({ ...one, games: 0 })) }),
  ],
  ['n9 is still there at the end, held', ({ left }) => ({ left: [...left, { node: 'n9', games: 1, state: 'held' }] })],
  [
    '1 games were ended by Berth',
    ({ games }) => ({ games: games.map((one) => (one.killed ? { ...one, killed: 'it was deleted' } : one)) }),
  ],
  [
    '1 servers were deleted with a session',
    ({ deeds }) => ({
      deeds: deeds.map((deed) => (deed.kind === 'delete-server' ? { ...deed, state: 'Reserved' } : deed)),
    }),
  ],
  ['2 machines were ended with games on them', ({ gone }) => ({ gone: gone.map((one) => ({ ...one, games: 1 })) })],
  [
    '1 servers were lost that players had got in time',
    ({ races }) => ({ races: races.map((one) => ({ ...one, kept: false })) }),
  ],
  [
    'n2, which the operator had cordoned, was changed 1 times',
    ({ ticks }) => ({
      ticks: ticks.map((tick, index) => (index === 60 ? { ...tick, changes: ['patch nodes n2'] } : tick)),
    }),
  ],
  ['and is not cordoned any more', ({ left }) => ({ left: left.filter(({ state }) => state !== 'held') })],
  [
    'the function is killed: BROKEN: 2 orders',
    ({ deeds }) => ({
      deeds: deeds.flatMap((deed) => (deed.kind === 'order' && deed.by === 3 ? [deed, deed] : [deed])),
    }),
  ],
  [
    'AWS has no machines: BROKEN: no status told of it',
    ({ samples }) => ({ samples: samples.map((one) => ({ ...one, degraded: undefined })) }),
  ],
  ['the tick is delivered twice: BROKEN: the second came to failed', () => ({ twin: 'failed' })],
  [
    'the machine of n6 fails: BROKEN: its node is still there',
    ({ gone }) => ({ gone: gone.filter(({ by }) => by === 'Berth') }),
  ],
  [
    'an operator cordons n2: BROKEN: the pool lacks a node',
    ({ samples }) => ({
      samples: samples.map((one, minute) =>
        minute > 25 && minute < 40 ? { ...one, nodes: { ...one.nodes, active: 4 } } : one,
      ),
    }),
  ],
  [
    'at 2026-01-16T15:30:00.000Z the status has target 2, by the timetable it is 5',
    ({ samples }) => ({
      samples: samples.map((one, minute) => (minute === 30 ? { ...one, effectiveTarget: 2 } : one)),
    }),
  ],
  ['nothing was played', () => ({ samples: [] })],
];

test.each(PROBLEMS)('is told and ends with 1: %s', (problem, change) => {
  const facts = exampleFacts();
  const summary = scalerSummaryOf({ ...facts, ...change(facts) });
  expect(summary.problems.join('\n')).toContain(problem);
  expect(summary.exitStatus).toBe(1);
  expect(scalerTable(summary)).toContain(problem);
});

test('the table says it in words', () => {
  const text = scalerTable(scalerSummaryOf(exampleFacts()));
  expect(text).toMatch(/at the start +2 {2}16:00\n/);
  expect(text).toMatch(/in the evening +5 {2}active at 16:19, wanted by 16:20\n/);
  expect(text).toMatch(/at the end +2 {2}17:20, and 1 draining, 1 held; shrunk at 17:07\n/);
  expect(text).toMatch(/draining {2}n3, 1 games? on it\n/);
  expect(text).toMatch(/ended by Berth +0\n/);
  expect(text).toMatch(/killed +1 {2}with the function/);
  expect(text).toMatch(/operator's node +untouched {2}n2, still cordoned\n/);
  expect(text).toMatch(/I3 no machine and no node ends with a game on it +holds {2}0 broken of 4 checked\n/);
  expect(text).toContain(
    '  16:25  an operator cordons n2\n         another is ordered at 16:25; this one is left alone\n',
  );
  expect(text).not.toContain('Not as it has to be');
});
