import { randomUUID } from 'node:crypto';
import {
  type DynamoDBClient,
  InternalServerError,
  ProvisionedThroughputExceededException,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, startDatabase } from '../../test/support/database.ts';
import { MemoryTurns } from '../../test/support/memory-turns.ts';
import { turnsContract } from '../../test/support/turns-contract.ts';
import { gzip } from '../gzip.ts';
import type { Ledger } from '../scaler/observation.ts';
import type { Turn } from '../scaler/turn.ts';
import type { EpochMs } from '../time.ts';
import { marshall } from './dynamo.ts';
import { scalerKey } from './keys.ts';
import { scalerStore } from './scaler-store.ts';

let database: Database;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database.stop());

describe('in DynamoDB', () => {
  turnsContract(() => scalerStore(database.client, database.tables));
});

describe('in memory', () => {
  turnsContract(() => new MemoryTurns());
});

const BARE: Ledger = { version: 0, pendingDeletions: [] };
const NOW = Date.UTC(2027, 0, 1) as EpochMs;

/** What happens to a request: it is refused, or done and its answer lost. Undefined: nothing. */
type Fault = { readonly before: unknown } | { readonly after: unknown } | undefined;

/** A client that notes the requests, and what happens to each. */
function client(faultOf: (nth: number) => Fault = () => undefined) {
  const sent: string[] = [];
  const send = async (command: object, ...rest: unknown[]) => {
    sent.push(command.constructor.name);
    const fault = faultOf(sent.length);
    if (fault && 'before' in fault) throw fault.before;
    const answer = await (database.client.send as (...args: unknown[]) => Promise<unknown>)(command, ...rest);
    if (fault && 'after' in fault) throw fault.after;
    return answer;
  };
  return { sent, dynamo: { send } as unknown as DynamoDBClient };
}

let clusters = 0;
const requestOf = (cluster = `eu-central-1/store-${clusters++}`) => {
  const until = (NOW + 60_000) as EpochMs;
  return { cluster, scheduledAt: NOW, holder: randomUUID(), now: NOW, until };
};

async function begun(dynamo: DynamoDBClient, request = requestOf()): Promise<Turn> {
  const outcome = await scalerStore(dynamo, database.tables).begin(request);
  if (outcome.kind !== 'begun') throw new Error(outcome.kind);
  return outcome.turn;
}

const $metadata = {};
const throttled = new ProvisionedThroughputExceededException({ message: 'too much', $metadata });
const broken = new InternalServerError({ message: 'no', $metadata });

describe('requests', () => {
  test('of an idle turn are two, whatever the number of objects', async () => {
    const { dynamo, sent } = client();
    const turn = await begun(dynamo);
    for (let nth = 0; nth < 50; nth++) expect(await turn.ledgerOf(`pool-${nth}`).read()).toEqual(BARE);
    await turn.end([]);
    expect(sent).toEqual(['UpdateItemCommand', 'UpdateItemCommand']);
  });

  test('to begin that fail are told as they are', async () => {
    await expect(begun(client(() => ({ before: throttled })).dynamo)).rejects.toMatchObject({ name: 'RetryError' });
  });
});

describe('a write of a ledger', () => {
  test.each([
    ['throttled', { before: throttled }, 'throttled', 'ProvisionedThroughputExceededException'],
    ['of which nobody knows', { after: broken }, 'unknown', 'InternalServerError'],
    [
      'past what an item holds',
      { before: Object.assign(new Error('Item size'), { name: 'ValidationException' }) },
      'refused',
      'ValidationException',
    ],
    [
      'without the right to',
      { before: Object.assign(new Error('not authorized'), { name: 'AccessDeniedException' }) },
      'denied',
      'AccessDeniedException',
    ],
  ] as const)('%s is told in the words of the ports', async (_, fault, kind, code) => {
    const turn = await begun(client((nth) => (nth === 2 ? fault : undefined)).dynamo);
    await expect(turn.ledgerOf('game').write(BARE)).rejects.toMatchObject({ name: 'CallError', kind, code });
  });

  test('to a table that is not there is a bug, and no answer', async () => {
    const missing = Object.assign(new Error('no table'), { name: 'ResourceNotFoundException' });
    const turn = await begun(client((nth) => (nth === 2 ? { before: missing } : undefined)).dynamo);
    await expect(turn.ledgerOf('game').write(BARE)).rejects.toMatchObject({ name: 'BugError' });
  });

  test('that was done, its answer lost, is done when it is sent again', async () => {
    const turn = await begun(client((nth) => (nth === 2 || nth === 4 ? { after: broken } : undefined)).dynamo);
    const ledger = turn.ledgerOf('game');
    // As the SDK does: the same request once more.
    await expect(ledger.write(BARE)).rejects.toMatchObject({ kind: 'unknown' });
    expect(await ledger.write(BARE)).toEqual({ ...BARE, version: 1 });
    const next = { ...BARE, version: 1, detectedProvider: 'eks' } as const;
    await expect(ledger.write(next)).rejects.toMatchObject({ kind: 'unknown' });
    expect(await ledger.write(next)).toEqual({ ...next, version: 2 });
  });
});

describe('what was stored by another hand', () => {
  test.each([
    ['no version', { pendingDeletions: [] }],
    ['another provider', { version: 1, pendingDeletions: [], detectedProvider: 'gke' }],
    [
      'an order that is not compressed',
      { version: 1, pendingDeletions: [], pendingIncrease: { count: 1, since: 1, baseline: new Uint8Array([1]) } },
    ],
    ['a text', 'x'],
    [
      'an order of more than fits into the memory',
      {
        version: 1,
        pendingDeletions: [],
        pendingIncrease: { count: 1, since: 1, baseline: gzip(`["${'x'.repeat(5e6)}"]`) },
      },
    ],
  ])('and has %s keeps its object from being acted on, and no other', async (_, game) => {
    const request = requestOf();
    const good = { version: 4, pendingDeletions: [] };
    const item = { pool: scalerKey(request.cluster), ledgers: { game, good } };
    await database.client.send(new PutItemCommand({ TableName: database.tables.scaler, Item: marshall(item) }));
    const turn = await begun(database.client, request);
    const message = expect.stringContaining(`item #cluster/${request.cluster} in the table Scaler`);
    const error = { name: 'CallError', kind: 'refused', code: 'LedgerMalformed', message };
    await expect(turn.ledgerOf('game').read()).rejects.toMatchObject(error);
    expect(await turn.ledgerOf('good').read()).toEqual(good);
    expect([...turn.ledgers]).toEqual([['good', good]]);
  });
});

describe('an item that another hand has written', () => {
  const put = async (cluster: string, fields: object) => {
    const item = { pool: scalerKey(cluster), ...fields };
    await database.client.send(new PutItemCommand({ TableName: database.tables.scaler, Item: marshall(item) }));
  };

  test.each([
    ['no end of its lease', { holder: 'h' }],
    ['a lease that ends at no time', { holder: 'h', until: 'soon', lastTick: 1 }],
    ['a lease of another century', { holder: 'h', until: NOW + 1e12, lastTick: 1 }],
    ['a last tick that is no time', { lastTick: 'now', ledgers: {} }],
    ['a last tick of another century', { lastTick: NOW + 1e12 }],
  ])('and that has %s keeps no cluster from being looked at for good', async (_, fields) => {
    const request = requestOf();
    await put(request.cluster, fields);
    await (await begun(database.client, request)).end([]);
    expect(await scalerStore(database.client, database.tables).begin(request)).toEqual({ kind: 'past' });
  });

  test.each([['a text'], [[{ version: 1, pendingDeletions: [] }]], [7], [null]])(
    'and that has %j for its ledgers keeps its objects from being acted on',
    async (ledgers) => {
      const request = requestOf();
      await put(request.cluster, { ledgers });
      const turn = await begun(database.client, request);
      expect([...turn.ledgers]).toEqual([]);
      await expect(turn.ledgerOf('game').read()).rejects.toMatchObject({ code: 'LedgerMalformed' });
    },
  );
});

test('ledgers can be looked at beside whoever has the turn', async () => {
  const store = scalerStore(database.client, database.tables);
  const request = requestOf();
  expect(await store.look(request.cluster)).toMatchObject({ ledgers: new Map() });
  await (await begun(database.client, request)).ledgerOf('game').write(BARE);
  expect(await store.look(request.cluster)).toEqual({
    ledgers: new Map([['game', { ...BARE, version: 1 }]]),
    lastTick: request.scheduledAt,
  });
});

test('nothing is written to an item but by updates on conditions', async () => {
  const conditions: (string | undefined)[] = [];
  const send = async (command: object) => {
    if (command instanceof UpdateItemCommand) conditions.push(command.input.ConditionExpression);
    return (database.client.send as (...args: unknown[]) => Promise<unknown>)(command);
  };
  const turn = await begun({ send } as unknown as DynamoDBClient);
  const ledger = turn.ledgerOf('game');
  await ledger.write(await ledger.write(BARE));
  await turn.end(['game']);
  expect(conditions).toEqual([
    expect.stringContaining('#until <= :now'),
    ...Array(2).fill(expect.stringMatching(/^#holder = :holder AND /)),
    '#holder = :holder',
  ]);
});
