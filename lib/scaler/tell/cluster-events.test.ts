import { describe, expect, test } from 'vitest';
import type { EpochMs } from '../../time.ts';
import { conditionEvents } from './cluster-events.ts';
import type { Condition } from './status.ts';

const MINUTE = 60_000;
const CREATED = Date.UTC(2026, 0, 1) as EpochMs;
const START = (CREATED + 60 * MINUTE) as EpochMs;

const accepted = (message = ''): Condition => ({ type: 'Valid', status: 'True', reason: 'Accepted', message });
const unreachable = (message: string): Condition => ({
  ...{ type: 'Valid', status: 'False', reason: 'ProviderUnreachable', message },
});
const fine: Condition = { type: 'Degraded', status: 'False', reason: 'AsExpected', message: '' };
const degraded = (reason: string, message = 'm'): Condition => ({ type: 'Degraded', status: 'True', reason, message });

/** The reasons of the events of a condition that is what it is for so many minutes, one after the other. */
function told(states: readonly (readonly [condition: Condition, minutes: number])[], createdAt = CREATED): string[] {
  let at = START as number;
  let stored: object | undefined;
  let before: Condition | undefined;
  let since = at;
  const events: string[] = [];
  for (const [condition, minutes] of states) {
    for (let minute = 0; minute < minutes; minute += 1) {
      const status = stored === undefined ? undefined : { conditions: [stored] };
      const object = { name: 'game', uid: 'u', createdAt, status };
      events.push(...conditionEvents({ conditions: [condition] }, object, at as EpochMs).map(({ reason }) => reason));
      if (before?.status !== condition.status) since = at;
      stored = { ...condition, lastTransitionTime: new Date(since).toISOString() };
      before = condition;
      at += MINUTE;
    }
  }
  return events;
}

describe('an outside that answers only now and then', () => {
  test.each([
    ['ProviderUnreachable', accepted(), unreachable('Throttling: slower')],
    ['ObservationFailed', fine, degraded('ObservationFailed')],
    ['Unknown', fine, degraded('Unknown')],
    ['TerminateRefused', fine, degraded('TerminateRefused')],
  ])('is told once, and not every minute: %s', (reason, good, bad) => {
    const flaps = Array.from({ length: 60 }, (_, at) => [at % 2 === 0 ? bad : good, 1] as const);
    expect(told([[good, 60], ...flaps])).toEqual([reason]);
  });

  test('is told when it fails, and when it is back, where each lasts', () => {
    const states = [[fine, 10] as const, [degraded('ObservationFailed'), 10] as const, [fine, 10] as const];
    expect(told([...states, ...states.slice(1)])).toEqual([
      ...['ObservationFailed', 'Recovered', 'ObservationFailed', 'Recovered'],
    ]);
  });

  test('is told in the first minutes of an object as well', () => {
    const states = [[fine, 1] as const, [degraded('ObservationFailed'), 1] as const];
    expect(told(states, START)).toEqual(['ObservationFailed']);
  });

  test('does not bring what was wrong before and is still, each time', () => {
    const flaps = Array.from({ length: 20 }, () => [
      ...[[degraded('ObservationFailed'), 1] as const, [degraded('DrainBlocked'), 1] as const],
    ]).flat();
    expect(told([[fine, 10], [degraded('DrainBlocked'), 10], ...flaps])).toEqual(['DrainBlocked']);
  });

  test('says something else each time, which is the same trouble', () => {
    const states = Array.from({ length: 9 }, (_, at) => [unreachable(`E${'abcdefghi'[at]}: no answer`), 1] as const);
    expect(told([[accepted(), 10], ...states])).toEqual(['ProviderUnreachable']);
  });
});

test('what a person changes is told at once, however often', () => {
  const wrong = (message: string): Condition => ({ type: 'Valid', status: 'False', reason: 'InvalidSpec', message });
  const states = [accepted(), wrong('got 6'), wrong('got 7'), accepted(), wrong('got 6')];
  expect(told([[accepted(), 60], ...states.map((one) => [one, 1] as const)])).toEqual([
    ...['InvalidSpec', 'InvalidSpec', 'Accepted', 'InvalidSpec'],
  ]);
});

describe('an object that nobody could look at', () => {
  const unknown: Condition = { type: 'Degraded', status: 'Unknown', reason: 'ProviderUnreachable', message: 'm' };
  const lasting = [unknown, 2] as const;

  test('tells nothing of its pool, neither before nor after', () => {
    expect(told([lasting, [fine, 1], lasting, [fine, 10]])).toEqual([]);
    expect(told([[degraded('DrainBlocked'), 10], lasting, [fine, 1]])).toEqual(['DrainBlocked']);
  });

  test('tells at once of what is found when it can be looked at', () => {
    expect(told([[fine, 60], lasting, [degraded('AtProviderMaximum'), 1]])).toEqual(['AtProviderMaximum']);
  });
});

test('a warning that counts machines is told once, and one that says something else as well', () => {
  const count = (machines: number) => [accepted(`${machines} of ${machines} are not protected`), 1] as const;
  const more = accepted('3 of 3 are not protected; the process Launch is suspended');
  expect(told([count(2), count(3), count(12), [more, 1]])).toEqual(['ProviderWarning', 'ProviderWarning']);
});
