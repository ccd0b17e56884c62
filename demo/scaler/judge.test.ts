import { expect, test } from 'vitest';
import { exampleFacts } from '../testing/example-scene.ts';
import type { Deed, GroupMove } from './deeds.ts';
import type { ScalerFacts } from './facts.ts';
import { type InvariantId, judge } from './judge.ts';

type Change = (facts: ScalerFacts) => Partial<ScalerFacts>;

/** Makes each deed of a kind into another. */
function deeds(kind: Deed['kind'], change: object): Change {
  return (facts) => ({
    deeds: facts.deeds.map((deed) => (deed.kind === kind ? ({ ...deed, ...change } as Deed) : deed)),
  });
}

function ends(change: Partial<GroupMove>): Change {
  return ({ moves }) => ({ moves: moves.map((move) => (move.what === 'ended' ? { ...move, ...change } : move)) });
}

function changes(events: string, made: readonly string[]): Change {
  return ({ ticks }) => ({ ticks: ticks.map((tick) => (tick.events === events ? { ...tick, changes: made } : tick)) });
}

function broken(facts: ScalerFacts): Record<string, number> {
  const found = Object.entries(judge(facts)).map(([id, { violations }]) => [id, violations.length] as const);
  return Object.fromEntries(found.filter(([, count]) => count > 0));
}

test('of a scene without fault every invariant holds, and there is something to each', () => {
  expect(broken(exampleFacts())).toEqual({});
  const checked = Object.entries(judge(exampleFacts())).map(([id, finding]) => [id, finding.checked]);
  expect(Object.fromEntries(checked)).toEqual({
    ...{ I1: 2, I2: 2, I3: 4, I4: 1, I5: 4, I6: 2, I7: 4, I8: 2, I9: 3, I10: 2, I11: 7 },
  });
});

const BREACHES: readonly (readonly [InvariantId, string, number, Change])[] = [
  ['I1', 'a delete without the version of what was looked at', 2, deeds('delete-server', { guarded: false })],
  ['I1', 'a delete that took a server with a session', 2, deeds('delete-server', { state: 'Reserved', done: true })],
  ['I1', 'what the world says', 1, () => ({ violations: ['local: game server m-1 was deleted in state Allocated'] })],
  ['I2', 'a delete on a node that somebody else has cordoned', 2, deeds('delete-server', { ours: false })],
  ['I3', 'a machine that ended with a game', 2, deeds('end-machine', { games: 1 })],
  ['I3', 'a node that went with a game', 2, deeds('remove-node', { games: 2 })],
  ['I3', 'what the world says', 1, () => ({ violations: ['local: the session of m-1 was lost: i-4 was ended by id'] })],
  ['I4', "somebody else's cordon taken back", 1, deeds('uncordon', { marked: false })],
  ['I5', 'above the maximum', 2, deeds('order', { max: 4 })],
  ['I5', 'below the minimum', 2, ends({ min: 6 })],
  ['I6', 'one machine too many', 2, deeds('order', { usable: 4, by: 2 })],
  ['I6', 'what the world says', 1, () => ({ violations: ['local: desired capacity of g was raised to 9, of which'] })],
  ['I7', 'a lower number', 2, deeds('order', { by: -1 })],
  ['I7', 'a victim that the group chose', 2, ends({ cause: 'by lowered desired capacity' })],
  ['I7', 'a request that raised nothing', 1, () => ({ sets: 3 })],
  ['I8', 'a change by who could not see', 2, changes('blind', ['patch nodes n3'])],
  ['I9', 'a change that was made twice', 2, changes('twin', ['delete nodes n4', 'delete nodes n4'])],
  ['I10', 'an end that nobody had written down', 2, deeds('end-machine', { intended: false })],
  ['I11', 'an order at the target', 2, deeds('order', { usable: 5, by: 0 })],
  ['I11', 'a node brought back at the target', 1, deeds('uncordon', { usable: 3 })],
  ['I11', 'a cordon at the target', 4, deeds('cordon', { usable: 2 })],
];

test.each(BREACHES)('%s is broken by %s', (id, _, times, change) => {
  const facts = exampleFacts();
  expect(broken({ ...facts, ...change(facts) })[id]).toBe(times);
});

test('what the world says and no invariant is about is told all the same', () => {
  expect(broken({ ...exampleFacts(), violations: ['local: something new'] })).toEqual({ I3: 1 });
});
