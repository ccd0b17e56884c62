import {
  type ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { abortable } from '../aws/requests.ts';
import { CallError } from '../scaler/call-error.ts';
import type { Ledger } from '../scaler/observation.ts';
import type { LedgerStore } from '../scaler/ports.ts';
import type { Turn, TurnRequest, Turns } from '../scaler/turn.ts';
import { SCALER } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import { type Item, marshall, unmarshall } from './dynamo.ts';
import { ours, type StoreError, storeError } from './errors.ts';
import { scalerKey } from './keys.ts';
import { ledgerBytes, ledgerFromItem, ledgerItem, mustFit, NO_LEDGER } from './ledger-item.ts';
import type { TableNames } from './tables.ts';

/** What everything of one cluster is written to: one item, so that one write begins a turn and shows all there is. */
interface Place {
  readonly dynamo: DynamoDBClient;
  readonly table: string;
  readonly cluster: string;
  readonly signal: AbortSignal | undefined;
}

/** Names of the attributes beside the key. */
const NAMES = { '#holder': 'holder', '#until': 'until', '#last': 'lastTick', '#ledgers': 'ledgers' } as const;

export interface ScalerStore extends Turns {
  /** What is remembered of a cluster, read beside whoever has its turn. */
  look(cluster: string): Promise<Remembered>;
}

export interface Remembered {
  /** By object. */
  readonly ledgers: ReadonlyMap<string, Ledger>;
  /** For when the tick was due that began last; undefined: there was none. */
  readonly lastTick?: EpochMs;
}

/** Leases and ledgers in DynamoDB. */
export function scalerStore(
  dynamo: DynamoDBClient,
  tables: Pick<TableNames, 'scaler'>,
  signal?: AbortSignal,
): ScalerStore {
  const placeOf = (cluster: string): Place => ({ dynamo, table: tables.scaler, cluster, signal });
  return {
    async begin(request) {
      const place = placeOf(request.cluster);
      const outcome = await update(place, beginning(request));
      if (outcome.ok) return { kind: 'begun', turn: new StoredTurn(place, request.holder, ledgersIn(outcome.item)) };
      return { kind: Number(outcome.item.lastTick) >= request.scheduledAt ? 'past' : 'held' };
    },

    async look(cluster) {
      const key = marshall({ pool: scalerKey(cluster) });
      const command = new GetItemCommand({ TableName: tables.scaler, Key: key, ConsistentRead: true });
      const { Item } = await ours(dynamo.send(command, abortable(signal)));
      if (Item === undefined) return { ledgers: new Map() };
      const item = unmarshall(Item);
      const { lastTick } = item;
      const ledgers = readable(ledgersIn(item));
      return typeof lastTick === 'number' ? { ledgers, lastTick: lastTick as EpochMs } : { ledgers };
    },
  };
}

type Change = Pick<
  UpdateItemCommandInput,
  'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeNames' | 'ReturnValues'
> & { readonly values: Readonly<Record<string, unknown>> };

/**
 * Free or expired, and later than the last. Or ours already: the SDK asks again when an answer got lost, and the first
 * request has taken the lease then. What is no time, or further ahead than any clock is wrong, is nobody's lease and no tick:
 * it would keep the cluster from being looked at for good.
 */
function beginning({ scheduledAt, holder, now, until }: TurnRequest): Change {
  return {
    UpdateExpression:
      'SET #holder = :holder, #until = :until, #last = :tick, #ledgers = if_not_exists(#ledgers, :none)',
    ConditionExpression:
      '((attribute_not_exists(#holder) OR NOT attribute_type(#until, :number) OR #until <= :now OR #until > :far)' +
      ' AND (NOT attribute_type(#last, :number) OR #last < :tick OR #last > :far))' +
      ' OR (#holder = :holder AND #last = :tick)',
    ExpressionAttributeNames: NAMES,
    values: {
      ...{ ':holder': holder, ':until': until, ':tick': scheduledAt, ':now': now, ':none': {} },
      ...{ ':number': 'N', ':far': now + SCALER.farAheadSeconds * 1000 },
    },
    ReturnValues: 'ALL_NEW',
  };
}

/** `item`: what is there after the change, if it was asked for; what is there instead where a condition does not hold. */
type Updated = { readonly ok: boolean; readonly item: Item };

async function update({ dynamo, table, cluster, signal }: Place, { values, ...change }: Change): Promise<Updated> {
  const command = new UpdateItemCommand({
    TableName: table,
    Key: marshall({ pool: scalerKey(cluster) }),
    ExpressionAttributeValues: marshall(values),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ...change,
  });
  try {
    const { Attributes = {} } = await dynamo.send(command, abortable(signal));
    return { ok: true, item: unmarshall(Attributes) };
  } catch (error) {
    const failure = storeError(error);
    if (failure.name !== 'ConflictError') throw failure;
    return { ok: false, item: unmarshall((error as ConditionalCheckFailedException).Item ?? {}) };
  }
}

/** The ledgers of an item as they are stored, by object; undefined: they are no ledgers by object at all. */
function ledgersIn({ ledgers = {} }: Item): ReadonlyMap<string, Item> | undefined {
  const isMap = typeof ledgers === 'object' && ledgers !== null && Object.getPrototypeOf(ledgers) === Object.prototype;
  return isMap ? new Map(Object.entries(ledgers as Record<string, Item>)) : undefined;
}

function readable(stored: ReadonlyMap<string, Item> = new Map()): ReadonlyMap<string, Ledger> {
  return new Map(
    [...stored].flatMap(([object, item]): [string, Ledger][] => {
      const ledger = ledgerFromItem(item);
      return ledger === undefined ? [] : [[object, ledger]];
    }),
  );
}

class StoredTurn implements Turn {
  readonly ledgers: ReadonlyMap<string, Ledger>;
  readonly #place: Place;
  readonly #holder: string;
  /** As stored, what this turn has written included. */
  readonly #stored: Map<string, Item>;
  readonly #isUnreadable: boolean;

  constructor(place: Place, holder: string, stored: ReadonlyMap<string, Item> | undefined) {
    this.#place = place;
    this.#holder = holder;
    this.#stored = new Map(stored);
    this.#isUnreadable = stored === undefined;
    this.ledgers = readable(stored);
  }

  ledgerOf(object: string): LedgerStore {
    return { read: async () => this.#read(object), write: (next) => this.#write(object, next) };
  }

  #read(object: string): Ledger {
    const stored = this.#stored.get(object);
    const ledger = stored === undefined ? NO_LEDGER : ledgerFromItem(stored);
    if (ledger !== undefined && !this.#isUnreadable) return ledger;
    const message = `what is remembered of ${object} is not of its shape; look at ledgers of the item ${scalerKey(this.#place.cluster)} in the table ${this.#place.table}, and take it out once nothing is under way`;
    throw new CallError('refused', 'LedgerMalformed', message);
  }

  /** On the condition that the lease is ours still: that is what fences off who was paused. */
  async #write(object: string, next: Ledger): Promise<Ledger> {
    const written: Ledger = { ...next, version: next.version + 1 };
    const item = ledgerItem(written);
    mustFit(object, item, this.#bytesBeside(object));
    const isNew = next.version === 0;
    const unchanged = isNew ? 'attribute_not_exists(#ledgers.#object)' : '#ledgers.#object.#version = :version';
    const outcome = await called(
      update(this.#place, {
        UpdateExpression: 'SET #ledgers.#object = :next',
        ConditionExpression: `#holder = :holder AND ${unchanged}`,
        ExpressionAttributeNames: {
          ...{ '#holder': NAMES['#holder'], '#ledgers': NAMES['#ledgers'], '#object': object },
          ...(isNew ? {} : { '#version': 'version' }),
        },
        values: { ':next': item, ':holder': this.#holder, ...(isNew ? {} : { ':version': next.version }) },
      }),
    );
    if (!outcome.ok) this.#mustBeDone(object, written, outcome.item);
    this.#stored.set(object, item);
    return written;
  }

  /**
   * The condition did not hold. Who has the lease is the only one who writes, one write after the other: the version that
   * was to be written, under our lease, is this very write, whose answer got lost and which the SDK has sent again.
   */
  #mustBeDone(object: string, written: Ledger, there: Item): void {
    const { cluster } = this.#place;
    if (there.holder !== this.#holder) {
      throw new CallError(
        'conflict',
        'LeaseLost',
        `another run has taken over ${cluster}: this one was paused too long`,
      );
    }
    if (ledgersIn(there)?.get(object)?.version === written.version) return;
    throw new CallError('conflict', 'LedgerConflict', `what is remembered of ${object} in ${cluster} was changed`);
  }

  #bytesBeside(object: string): number {
    const others = [...this.#stored].filter(([name]) => name !== object);
    return others.reduce((sum, [name, item]) => sum + ledgerBytes(name, item), 0);
  }

  async end(forget: readonly string[]): Promise<void> {
    const gone = forget.map((object, at) => [`#gone${at}`, object] as const);
    // Also when the time of the rest is over: no signal. That it is somebody else's by now is as good as given back.
    await update(
      { ...this.#place, signal: undefined },
      {
        UpdateExpression: `REMOVE ${['#holder', '#until', ...gone.map(([name]) => `#ledgers.${name}`)].join(', ')}`,
        ConditionExpression: '#holder = :holder',
        ExpressionAttributeNames: {
          ...{ '#holder': NAMES['#holder'], '#until': NAMES['#until'] },
          ...(gone.length > 0 ? { '#ledgers': NAMES['#ledgers'] } : {}),
          ...Object.fromEntries(gone),
        },
        values: { ':holder': this.#holder },
      },
    );
  }
}

/** What `request` comes to, its errors as the ports of the scaler have them. A bug goes through. */
async function called<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    throw callError(error as StoreError);
  }
}

/** Names under which DynamoDB says that it did nothing, since it had too much to do. */
const THROTTLED = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'LimitExceededException',
]);

function callError(error: StoreError): Error {
  const code = (error.cause as { name?: string } | undefined)?.name ?? error.name;
  const { message } = error;
  if (error.name === 'RetryError') {
    return new CallError(THROTTLED.has(code) ? 'throttled' : 'unknown', code, message, { cause: error });
  }
  if (error.name === 'PermanentError') return new CallError('refused', code, message, { cause: error });
  if (code === 'AccessDeniedException') return new CallError('denied', code, message, { cause: error });
  return error;
}
