/** What requests of one operation came to. Plain data, fit for JSON. */
export interface OperationUsage {
  readonly requests: number;
  /** Items asked for or written: the actions of a transaction, the keys of a batch, what a query looked at. */
  readonly items: number;
  /** Capacity units as the answers state them, those of indexes included; only of requests with ReturnConsumedCapacity. */
  readonly readUnits: number;
  readonly writeUnits: number;
  /** Requests that were answered with an error, by its name: `TransactionCanceledException`. They are in `requests` too. */
  readonly failed: Readonly<Record<string, number>>;
}

/** Usage by operation: `TransactWriteItems`. */
export type Usage = Readonly<Record<string, OperationUsage>>;

/** Usage by consumer: a function's name, or `client`. */
export type MeterReading = Readonly<Record<string, Usage>>;

export const NO_USAGE: OperationUsage = { requests: 0, items: 0, readUnits: 0, writeUnits: 0, failed: {} };

const READS: ReadonlySet<string> = new Set(['GetItem', 'BatchGetItem', 'TransactGetItems', 'Query', 'Scan']);

/** What one request came to, from the bodies of request and response as DynamoDB's JSON protocol has them. */
export function usageOf(operation: string, status: number, request: unknown, response: unknown): OperationUsage {
  const answer = objectOf(response);
  if (status >= 400) {
    const type = String(answer.__type ?? `status ${status}`);
    return {
      ...NO_USAGE,
      requests: 1,
      items: itemsOf(request, {}),
      failed: { [type.slice(type.indexOf('#') + 1)]: 1 },
    };
  }
  const units = unitsOf(answer.ConsumedCapacity);
  return {
    requests: 1,
    items: itemsOf(request, answer),
    readUnits: READS.has(operation) ? units : 0,
    writeUnits: READS.has(operation) ? 0 : units,
    failed: {},
  };
}

function itemsOf(request: unknown, answer: Readonly<Record<string, unknown>>): number {
  const { TransactItems, RequestItems, Key, Item } = objectOf(request);
  if (Array.isArray(TransactItems)) return TransactItems.length;
  if (RequestItems !== undefined) {
    // A table's keys to get, or its list of writes.
    const lists = Object.values(objectOf(RequestItems)).map((it) => (Array.isArray(it) ? it : objectOf(it).Keys));
    return lists.reduce((sum: number, list) => sum + (Array.isArray(list) ? list.length : 0), 0);
  }
  if (Key !== undefined || Item !== undefined) return 1;
  return Number(answer.ScannedCount ?? 0);
}

function unitsOf(consumed: unknown): number {
  const perTable = Array.isArray(consumed) ? consumed : [consumed];
  return perTable.reduce((sum: number, it) => sum + Number(objectOf(it).CapacityUnits ?? 0), 0);
}

export function addUsage(a: OperationUsage, b: OperationUsage, sign: 1 | -1 = 1): OperationUsage {
  const failed: Record<string, number> = { ...a.failed };
  for (const [error, count] of Object.entries(b.failed)) {
    failed[error] = (failed[error] ?? 0) + sign * count;
    if (failed[error] === 0) delete failed[error];
  }
  return {
    requests: a.requests + sign * b.requests,
    items: a.items + sign * b.items,
    readUnits: a.readUnits + sign * b.readUnits,
    writeUnits: a.writeUnits + sign * b.writeUnits,
    failed,
  };
}

/** What was used between two readings of one meter. */
export function usageBetween(before: MeterReading, after: MeterReading): MeterReading {
  return mapRecord(after, (usage, consumer) =>
    mapRecord(usage, (it, operation) => addUsage(it, before[consumer]?.[operation] ?? NO_USAGE, -1)),
  );
}

/** All operations of a consumer in one. */
export function totalUsage(usage: Usage | undefined): OperationUsage {
  return Object.values(usage ?? {}).reduce((sum, it) => addUsage(sum, it), NO_USAGE);
}

function mapRecord<T, U>(record: Readonly<Record<string, T>>, map: (value: T, key: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
