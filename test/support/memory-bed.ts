import { accountOf, exchanged } from '../../lib/nodes/account.ts';
import type { PoolSettingsInput } from '../../lib/nodes/pool.ts';
import type { Commit } from '../../lib/plans/ledger.ts';
import { decideReport } from '../../lib/tasks/report.ts';
import { faultyStore } from './faulty-store.ts';
import type { History, Other } from './histories.ts';
import { MemoryState, memoryStore } from './memory-store.ts';
import { poolOf, SENT_AT } from './plans.ts';
import type { Bed } from './run-history.ts';

/** Told of everything that changes the state, in the step in which it does. */
export interface Witness {
  committed?(commit: Commit): void;
  ended?(task: string): void;
  registered?(other: Other & { readonly kind: 'register' }): void;
}

/** A bed in memory, its nodes registered. Others write as the client does: from a copy that is still current. */
export function memoryBed(
  history: History,
  witnessOf: (state: MemoryState) => Witness = () => ({}),
  turn?: (what: string) => Promise<unknown>,
): Bed & { readonly state: MemoryState } {
  const state = new MemoryState(poolOf(history.pool, { settings: settingsOf(history) }));
  for (const node of history.nodes) {
    state.accounts.set(node.nodeId, accountOf(node));
    state.events.set(node.nodeId, []);
  }
  const witness = witnessOf(state);
  const store = memoryStore(state, (commit) => witness.committed?.(commit));
  return {
    state,
    open: (script) => faultyStore(store, script, turn),
    async meanwhile(other) {
      if (other.kind === 'settings') {
        if (state.pool !== 'missing') state.pool = { ...state.pool, index: state.pool.index + 1 };
      } else if (other.kind === 'register') {
        state.accounts.set(other.node.nodeId, accountOf(other.node, state.accounts.get(other.node.nodeId)));
        witness.registered?.(other);
      } else {
        for (const [key, task] of state.tasks) if (task.taskId === other.task.taskId) end(state, key, witness);
      }
    },
  };
}

/** The settings of a history's pool: every refusal of the history lies inside the window, and marks do not come back in it. */
export function settingsOf({ settings: { stopRelease, threshold, marks } }: History): PoolSettingsInput {
  const tracker =
    threshold === undefined
      ? { enabled: false }
      : { threshold, windowSeconds: 86_400, markBurst: marks ?? 1, markRatePerSecond: 1e-9 };
  return { stopRelease, tracker };
}

function end(state: MemoryState, key: string, witness: Witness): void {
  const task = state.tasks.get(key);
  const decision = task && decideReport(task, { state: 'complete' }, SENT_AT);
  if (decision?.kind !== 'write') return;
  state.tasks.set(key, decision.image);
  const account = state.accounts.get(decision.image.nodeId);
  if (account && decision.exchange) {
    state.accounts.set(account.nodeId, { ...exchanged(account, decision.exchange), version: account.version + 1 });
  }
  witness.ended?.(key);
}
