/**
 * The tables: what the stack creates, what the local engine creates from the stack, what the code reads and writes.
 * One place for names of keys and indexes; `keys.ts` has the formats of their values.
 */

export type TableName = 'nodes' | 'tasks' | 'plans' | 'rejections' | 'pools' | 'services' | 'scaler';

export interface IndexDefinition {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey: string;
  /** `keys-only`, so that a change of a task's state costs no write of the index. */
  readonly projection: 'keys-only';
}

export interface TableDefinition {
  /** Logical id in the stack and suffix of the physical name. Never change one: the table would be replaced. */
  readonly id: string;
  readonly partitionKey: string;
  readonly sortKey?: string;
  readonly indexes: readonly IndexDefinition[];
  /** Attribute with an epoch in seconds after which DynamoDB may delete the item. Rubbish collection only: readers check times. */
  readonly ttl?: string;
  readonly stream?: 'new-and-old-images';
  /** Environment variable that tells a function the table's name. */
  readonly env: string;
}

/** The index of tasks by the node that they are on. */
export const BY_NODE_INDEX = 'by-node';
/** The index of tasks by their service. */
export const BY_SERVICE_INDEX = 'by-service';

export const TABLES: { readonly [name in TableName]: TableDefinition } = {
  nodes: { id: 'Nodes', partitionKey: 'poolShard', sortKey: 'nodeId', indexes: [], env: 'BERTH_TABLE_NODES' },
  tasks: {
    id: 'Tasks',
    partitionKey: 'slotKey',
    sortKey: 'taskId',
    indexes: [
      { name: BY_NODE_INDEX, partitionKey: 'poolNode', sortKey: 'taskId', projection: 'keys-only' },
      { name: BY_SERVICE_INDEX, partitionKey: 'serviceId', sortKey: 'taskId', projection: 'keys-only' },
    ],
    stream: 'new-and-old-images',
    env: 'BERTH_TABLE_TASKS',
  },
  plans: { id: 'Plans', partitionKey: 'planId', indexes: [], ttl: 'expiresAt', env: 'BERTH_TABLE_PLANS' },
  rejections: {
    id: 'Rejections',
    partitionKey: 'pool',
    sortKey: 'nodeId',
    indexes: [],
    ttl: 'expiresAt',
    env: 'BERTH_TABLE_REJECTIONS',
  },
  pools: { id: 'Pools', partitionKey: 'pool', indexes: [], env: 'BERTH_TABLE_POOLS' },
  services: {
    id: 'Services',
    partitionKey: 'serviceId',
    indexes: [],
    ttl: 'expiresAt',
    env: 'BERTH_TABLE_SERVICES',
  },
  scaler: { id: 'Scaler', partitionKey: 'pool', indexes: [], ttl: 'expiresAt', env: 'BERTH_TABLE_SCALER' },
};

/** Physical names of the tables, as a function finds them in its environment. */
export type TableNames = { readonly [name in TableName]: string };

export type QueueName = 'plans' | 'plansDead' | 'quarantine' | 'sweep' | 'reaperFailures';

/** Logical id and suffix of the physical name of each queue. Never change one: the queue would be replaced. */
export const QUEUE_IDS: { readonly [name in QueueName]: { readonly logicalId: string; readonly suffix: string } } = {
  plans: { logicalId: 'PlanQueue', suffix: 'plans.fifo' },
  plansDead: { logicalId: 'PlanDeadLetterQueue', suffix: 'plans-dead.fifo' },
  quarantine: { logicalId: 'QuarantineQueue', suffix: 'quarantine' },
  sweep: { logicalId: 'SweepQueue', suffix: 'sweep' },
  reaperFailures: { logicalId: 'ReaperFailureQueue', suffix: 'reaper-failures' },
};

/** Environment variables with the URLs of the queues. */
export const QUEUE_ENV = {
  plans: 'BERTH_QUEUE_PLANS',
  plansDead: 'BERTH_QUEUE_PLANS_DEAD',
  quarantine: 'BERTH_QUEUE_QUARANTINE',
  sweep: 'BERTH_QUEUE_SWEEP',
  reaperFailures: 'BERTH_QUEUE_REAPER_FAILURES',
} as const satisfies { readonly [name in QueueName]: string };

/** Begins the name of everything, unless told otherwise. */
export const DEFAULT_PREFIX = 'Berth';

/**
 * What two Berths in one account and region are told apart by. CloudFormation wants a letter first and letters, digits
 * and hyphens after it in the name of a stack; 32 characters leave room for the suffix in the shortest of the names
 * (80 characters, of a queue).
 */
const PREFIX_PATTERN = /^[A-Za-z][A-Za-z0-9-]{0,31}$/;

export const PREFIX_EXPECTED = 'a letter and then up to 31 letters, digits or hyphens';

/** Whether `prefix` can begin the name of a stack, a table and a queue. */
export function isPrefix(prefix: unknown): prefix is string {
  return typeof prefix === 'string' && PREFIX_PATTERN.test(prefix);
}

/** Physical name of a table: `Berth-Nodes`. */
export function tablePhysicalName(prefix: string, table: TableName): string {
  return `${prefix}-${TABLES[table].id}`;
}

/** Physical name of a queue: `Berth-plans.fifo`. SQS wants `.fifo` at the end of a FIFO queue's name. */
export function queuePhysicalName(prefix: string, queue: QueueName): string {
  return `${prefix}-${QUEUE_IDS[queue].suffix}`;
}

/** Environment variable with the name of the event bus. */
export const EVENT_BUS_ENV = 'BERTH_EVENT_BUS';

/** Environment variable with the clusters that the node scaler works on, as JSON (`lib/scaler/cluster-settings.ts`). */
export const CLUSTERS_ENV = 'BERTH_CLUSTERS';

/** A variable of the environment that must be there; throws with its name when it is not. */
export function requiredEnv(env: Readonly<Record<string, string | undefined>>, variable: string): string {
  const value = env[variable];
  if (value === undefined || value === '') {
    throw new Error(
      `${variable} is not set; a stack sets it for its functions; for a client: npm start -- --write-env berth.env, then . ./berth.env`,
    );
  }
  return value;
}

/** The names of the tables from the environment; throws with the variable's name when one in `needed` is missing. */
export function tableNamesFromEnv<N extends TableName>(
  env: Readonly<Record<string, string | undefined>>,
  needed: readonly N[],
): { readonly [name in N]: string } {
  const names: Partial<Record<N, string>> = {};
  for (const table of needed) {
    names[table] = requiredEnv(env, TABLES[table].env);
  }
  return names as { readonly [name in N]: string };
}
