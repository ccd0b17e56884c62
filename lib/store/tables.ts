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

export const TABLES: { readonly [name in TableName]: TableDefinition } = {
  nodes: { id: 'Nodes', partitionKey: 'poolShard', sortKey: 'nodeId', indexes: [], env: 'BERTH_TABLE_NODES' },
  tasks: {
    id: 'Tasks',
    partitionKey: 'slotKey',
    sortKey: 'taskId',
    indexes: [
      { name: 'by-node', partitionKey: 'poolNode', sortKey: 'taskId', projection: 'keys-only' },
      { name: 'by-service', partitionKey: 'serviceId', sortKey: 'taskId', projection: 'keys-only' },
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
  services: { id: 'Services', partitionKey: 'serviceId', indexes: [], env: 'BERTH_TABLE_SERVICES' },
  scaler: { id: 'Scaler', partitionKey: 'pool', indexes: [], ttl: 'expiresAt', env: 'BERTH_TABLE_SCALER' },
};

/** Physical names of the tables, as a function finds them in its environment. */
export type TableNames = { readonly [name in TableName]: string };

/** Environment variables with the URLs of the queues. */
export const QUEUE_ENV = { plans: 'BERTH_QUEUE_PLANS', quarantine: 'BERTH_QUEUE_QUARANTINE' } as const;

/** Environment variable with the name of the event bus. */
export const EVENT_BUS_ENV = 'BERTH_EVENT_BUS';

/** A variable of the environment that must be there; throws with its name when it is not. */
export function requiredEnv(env: Readonly<Record<string, string | undefined>>, variable: string): string {
  const value = env[variable];
  if (value === undefined || value === '') {
    throw new Error(
      `${variable} is not set; a stack sets it for its functions, and the local engine prints it for clients`,
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
