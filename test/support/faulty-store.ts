import type { CommitOutcome, PlanStore } from '../../lib/plans/apply.ts';
import { BugError, RetryError } from '../../lib/store/errors.ts';
import { type Fault, type FaultScript, Mortal, noFaults } from './faults.ts';

export interface FaultyStore {
  readonly store: PlanStore;
  readonly killed: Promise<'killed'>;
}

/**
 * A store to which the faults of a script happen, as the DynamoDB store tells of them. `turn` is awaited before each
 * request and again before its answer, so that a scheduler decides what happens in between.
 */
export function faultyStore(
  real: PlanStore,
  script: FaultScript = noFaults,
  turn: (what: string) => Promise<unknown> = async () => undefined,
): FaultyStore {
  const mortal = new Mortal();
  let number = 0;
  const request = async <T>(name: string, perform: () => Promise<T>): Promise<T> => {
    if (!mortal.alive) return mortal.kill();
    const fault = script({ number: ++number, name });
    await turn(name);
    const answer = await (fault === undefined ? perform() : suffer(fault, name, perform, mortal));
    await turn(`answer to ${name}`);
    return mortal.alive ? answer : mortal.kill();
  };
  return {
    store: {
      readPool: (pool) => request('readPool', () => real.readPool(pool)),
      read: (pool, needs) => request('read', () => real.read(pool, needs)),
      commit: (commit) => request('commit', () => real.commit(commit)),
    },
    killed: mortal.ended,
  };
}

async function suffer<T>(fault: Fault, name: string, perform: () => Promise<T>, mortal: Mortal): Promise<T> {
  if (typeof fault === 'object') {
    await fault.meanwhile();
    return perform();
  }
  switch (fault) {
    case 'conflict':
    case 'partly-throttled':
      if (name === 'commit') return BUSY as T;
      throw new RetryError(`${name}: ${fault}`);
    case 'throttled':
    case 'nothing-processed':
    case 'server-error':
    case 'lost-before':
      throw new RetryError(`${name}: ${fault}`);
    case 'lost-after':
      await perform();
      throw new RetryError(`${name}: ${fault}`);
    case 'kill-before':
      return mortal.kill();
    case 'kill-after':
      await perform();
      return mortal.kill();
    case 'denied':
      throw new BugError(`${name}: not authorized`);
  }
}

const BUSY: CommitOutcome = {
  kind: 'refused',
  learned: {
    accounts: new Map(),
    tasks: new Map(),
    windows: new Map(),
    events: new Map(),
    progress: new Map(),
    results: [],
  },
  busy: true,
};
