import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, startDatabase } from '../support/database.ts';
import { dynamoBed } from '../support/dynamo-bed.ts';
import { LARGE, largeHistory } from '../support/large-plan.ts';
import { runHistory } from '../support/run-history.ts';

describe('in DynamoDB, a plan of 5,000 placements on 1,000 nodes', () => {
  let database: Database;
  beforeAll(async () => {
    database = await startDatabase();
  });
  afterAll(() => database.stop());

  it.each([
    { how: 'node by node', allAtOnce: false, requests: { GetItem: 1, BatchGetItem: 1, TransactWriteItems: 63 } },
    { how: 'all at once', allAtOnce: true, requests: { GetItem: 1, BatchGetItem: 61, TransactWriteItems: 115 } },
  ])('is applied $how, in these requests', async ({ allAtOnce, requests }) => {
    const history = largeHistory(allAtOnce ? 'once' : 'each', allAtOnce);
    const bed = await dynamoBed(database, history);
    const { answers, problems } = await runHistory(history, bed);
    expect(problems).toEqual([]);
    const found: Record<string, number> = {};
    for (const name of bed.requests) found[name] = (found[name] ?? 0) + 1;
    expect(found).toEqual(requests);
    const { accounts, tasks, results } = await bed.world();
    expect([...results.values()]).toEqual(answers.get(history.plan.planId));
    expect(results.get(history.plan.planId)).toMatchObject({
      status: 'applied',
      committed: { placements: LARGE.placements },
    });
    expect(tasks.size).toBe(LARGE.placements);
    expect(new Set([...tasks.values()].map(({ state }) => state))).toEqual(new Set(['assigned']));
    expect(accounts.size).toBe(LARGE.nodes);
    expect(new Set([...accounts.values()].map(({ free }) => free.cpu))).toEqual(new Set([0]));
  });
});
