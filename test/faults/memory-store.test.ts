import { describe } from 'vitest';
import type { PoolName } from '../../lib/ids.ts';
import { MemoryState, memoryStore } from '../support/memory-store.ts';
import { planStoreContract } from '../support/plan-store-contract.ts';

describe('the store in memory, which stands for DynamoDB in the histories', () => {
  planStoreContract(async () => {
    const state = new MemoryState('missing');
    const store = memoryStore(state);
    return {
      store: {
        ...store,
        // It holds one pool; every other is missing.
        readPool: async (name: PoolName) =>
          state.pool !== 'missing' && state.pool.pool === name ? state.pool : 'missing',
        commit: (commit) =>
          commit.pool && state.pool !== 'missing' && commit.pool.pool !== state.pool.pool
            ? memoryStore(new MemoryState('missing')).commit(commit)
            : store.commit(commit),
      },
      async put({ pool, accounts = [], tasks = [] }) {
        if (pool) state.pool = pool;
        for (const account of accounts) {
          state.accounts.set(account.nodeId, account);
          state.events.set(account.nodeId, []);
        }
        for (const task of tasks) state.tasks.set(`${task.slotKey} ${task.taskId}`, task);
      },
    };
  });
});
