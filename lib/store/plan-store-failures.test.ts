import { type DynamoDBClient, PutItemCommand, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { taskOf } from '../../test/support/builders.ts';
import { commitOf, needs } from '../../test/support/commits.ts';
import { type Database, startDatabase } from '../../test/support/database.ts';
import { dynamoContractBed } from '../../test/support/dynamo-bed.ts';
import { faultAt } from '../../test/support/faults.ts';
import { faultyClient } from '../../test/support/faulty-client.ts';
import { nodeOf, poolOf } from '../../test/support/plans.ts';
import type { NodeId } from '../ids.ts';
import { accountOf } from '../nodes/account.ts';
import { taskKey } from '../plans/decide-part.ts';
import { dynamoClient, marshall } from './dynamo.ts';
import { planStore } from './plan-store.ts';

let database: Database;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database.stop());

let pools = 0;

/** A pool at index 7 with node `n1`. */
async function start() {
  const pool = poolOf(`failures-${++pools}`, { index: 7 });
  const account = accountOf(nodeOf({ nodeId: 'n1', pool: pool.pool, capacity: { cpu: 4 } }));
  const bed = dynamoContractBed(database);
  await bed.put({ pool, accounts: [account] });
  return { pool, account, bed };
}

/** A client whose transactions are cancelled for `codes`, one an action; a failed condition shows what is there. */
function cancelling(...reasons: readonly { Code: string; Item?: object }[]): DynamoDBClient {
  const send = () =>
    Promise.reject(
      new TransactionCanceledException({
        message: 'Transaction cancelled',
        CancellationReasons: reasons.map(({ Code, Item }) => (Item ? { Code, Item: marshall(Item) } : { Code })),
        $metadata: {},
      }),
    );
  return { send } as unknown as DynamoDBClient;
}

describe('a cancelled transaction', () => {
  const none = { Code: 'None' };
  const failed = { Code: 'ConditionalCheckFailed' };

  it.each([
    ['a conflict', [{ Code: 'TransactionConflict' }, none], true],
    ['throttling', [none, { Code: 'ThrottlingError' }], true],
    ['a conflict and a failed condition', [{ Code: 'TransactionConflict' }, failed], false],
    // What the condition has shown is of use; trying at once is not.
    ['throttling and a failed condition', [{ Code: 'ProvisionedThroughputExceeded' }, failed], true],
  ])('for %s has written nothing, and a pause is due: %j', async (_name, reasons, busy) => {
    const { pool } = await start();
    const commit = commitOf(pool);
    const outcome = await planStore(cancelling(...reasons), database.tables).commit(commit);
    const learned = reasons.includes(failed) ? [[commit.results[0]?.result.planId, 'none']] : [];
    expect(outcome).toMatchObject({ kind: 'refused', busy });
    expect(outcome.kind === 'refused' && [...outcome.learned.progress]).toEqual(learned);
  });

  it.each([
    ['a reason that nobody knows', 'BugError', [none, { Code: 'AReasonOfTheFuture' }]],
    ['fewer reasons than actions', 'BugError', [failed]],
    ['no reasons at all', 'BugError', []],
    ['what can never pass', 'PermanentError', [none, { Code: 'ValidationError' }]],
  ])('for %s is a %s, never an answer', async (_name, kind, reasons) => {
    const { pool } = await start();
    const store = planStore(cancelling(...reasons), database.tables);
    await expect(store.commit(commitOf(pool))).rejects.toMatchObject({ name: kind });
  });
});

describe('a read', () => {
  it('of which keys were left out asks for those again, and for no others', async () => {
    const { pool, bed } = await start();
    const tasks = ['a', 'b', 'c'].map((name) => taskOf(`${pool.pool}-${name}`, {}, { pool: pool.pool }));
    await bed.put({ tasks });
    const asked: unknown[] = [];
    const watched = faultyClient(database.client, faultAt(1, 'partly-throttled'));
    const send = watched.client.send.bind(watched.client) as (command: object, options: object) => Promise<unknown>;
    const client = {
      send: (command: { input: { RequestItems: Record<string, { Keys: object[] }> } }, options: object) => {
        asked.push(Object.values(command.input.RequestItems).reduce((sum, { Keys }) => sum + Keys.length, 0));
        return send(command, options);
      },
    } as unknown as DynamoDBClient;
    const keys = tasks.map(({ slotKey, taskId }) => taskKey(slotKey, taskId));
    const read = await planStore(client, database.tables).read(pool, needs({ tasks: keys, accounts: ['n1'] }));
    expect([...read.tasks.values()]).toEqual(tasks);
    expect(read.accounts.get('n1' as NodeId)).toMatchObject({ nodeId: 'n1' });
    // Of the account's table and the tasks' one key each.
    expect(asked).toEqual([4, 2]);
  });

  it('of which no key was processed waits, rather than ask for all again at once', async () => {
    const { pool } = await start();
    const { client, requests } = faultyClient(database.client, () => 'nothing-processed');
    const read = planStore(client, database.tables).read(pool, needs({ accounts: ['n1'] }));
    await expect(read).rejects.toMatchObject({ name: 'RetryError' });
    expect(requests).toHaveLength(1);
  });

  it('asks for what is there now, not for what a replica has', async () => {
    const { pool } = await start();
    const inputs: Record<string, unknown>[] = [];
    const client = {
      send: async ({ input }: { input: Record<string, unknown> }) => {
        inputs.push(input);
        return { Responses: {} };
      },
    } as unknown as DynamoDBClient;
    const store = planStore(client, database.tables);
    await store.readPool(pool.pool);
    await store.read(pool, needs({ accounts: ['n1'], tasks: ['web#1 t'], progress: ['p'], windows: ['n1'] }));
    const [first, second] = inputs as [{ ConsistentRead: boolean }, { RequestItems: Record<string, object> }];
    expect(first.ConsistentRead).toBe(true);
    expect(Object.values(second.RequestItems)).toHaveLength(4);
    for (const table of Object.values(second.RequestItems)) expect(table).toMatchObject({ ConsistentRead: true });
  });
});

describe('what stands in the tables and is not of its shape', () => {
  const put = (table: string, item: object) =>
    database.client.send(new PutItemCommand({ TableName: table, Item: marshall(item) }));

  it('parks what asks for it, if it is a task', async () => {
    const { pool, bed } = await start();
    await put(database.tables.tasks, { slotKey: 'web#1', taskId: 'broken', state: 'no such state' });
    const read = bed.store.read(pool, needs({ tasks: ['web#1 broken'] }));
    await expect(read).rejects.toMatchObject({ name: 'PermanentError', message: expect.stringMatching(/task broken/) });
  });

  it('stops the plans of the pool, if it is the pool', async () => {
    const { bed } = await start();
    await put(database.tables.pools, { pool: 'broken-pool', index: 'seven' });
    const read = bed.store.readPool('broken-pool' as never);
    await expect(read).rejects.toMatchObject({ name: 'BugError', message: expect.stringMatching(/pool broken-pool/) });
  });
});

describe('an invocation without time', () => {
  it('sends nothing more', async () => {
    const { pool } = await start();
    const store = planStore(database.client, database.tables, AbortSignal.abort());
    await expect(store.commit(commitOf(pool))).rejects.toMatchObject({ name: 'RetryError' });
    await expect(store.readPool(pool.pool)).rejects.toMatchObject({ name: 'RetryError' });
    expect(await planStore(database.client, database.tables).readPool(pool.pool)).toEqual(pool);
  });
});

describe('the SDK', () => {
  it('tries a transaction again whose answer was lost, and is told that it was committed', async () => {
    const { pool } = await start();
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    const client = dynamoClient({ endpoint: database.url, region: 'us-east-1', credentials });
    const tokens: unknown[] = [];
    // Below the SDK's own tries: the first answer gets lost on its way.
    client.middlewareStack.add(
      (next, context) => async (args) => {
        const output = await next(args);
        if (context.commandName !== 'TransactWriteItemsCommand') return output;
        const { body } = args.request as { body: Uint8Array };
        tokens.push(JSON.parse(Buffer.from(body).toString()).ClientRequestToken);
        if (tokens.length === 1) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
        return output;
      },
      { step: 'deserialize', priority: 'low' },
    );
    const outcome = await planStore(client, database.tables).commit(commitOf(pool));
    expect(outcome).toEqual({ kind: 'committed' });
    expect(tokens).toHaveLength(2);
    expect(new Set(tokens).size).toBe(1);
    expect(await planStore(client, database.tables).readPool(pool.pool)).toEqual({ ...pool, index: 8 });
    client.destroy();
  });

  it('gives no two transactions the same token, were they alike', async () => {
    const { pool } = await start();
    const { client } = faultyClient(database.client, faultAt(1, 'lost-after'));
    const store = planStore(client, database.tables);
    const commit = commitOf(pool);
    await expect(store.commit(commit)).rejects.toMatchObject({ name: 'RetryError' });
    // Asked for again, it is another transaction: the pool has moved, and its result is there.
    expect(await store.commit(commit)).toMatchObject({ kind: 'refused', learned: { pool: { index: 8 } } });
  });
});
