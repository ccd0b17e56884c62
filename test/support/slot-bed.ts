import {
  type BatchStatementError,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { PoolName, ServiceId } from '../../lib/ids.ts';
import { type Item, marshall, unmarshall } from '../../lib/store/dynamo.ts';
import { taskItem } from '../../lib/store/records.ts';
import { slotStore } from '../../lib/store/slot-store.ts';
import type { SlotStore, SlotWrite } from '../../lib/tasks/reap.ts';
import type { SlotKey, Task } from '../../lib/tasks/task.ts';
import { taskOf } from './builders.ts';
import { type Database, startDatabase } from './database.ts';

/** Slots in a database, and the store that reads and writes them. */
export interface SlotBed {
  readonly database: Database;
  /** A service of its own for each test, whose slot 1 holds what `states` say. */
  start(...states: readonly (Partial<Task> & { resources?: Record<string, number> })[]): Promise<{
    readonly serviceId: ServiceId;
    readonly pool: PoolName;
    readonly slotKey: SlotKey;
    readonly tasks: readonly Task[];
  }>;
  put(table: string, items: readonly object[]): Promise<void>;
  stored(task: Pick<Task, 'slotKey' | 'taskId'>): Promise<Item | undefined>;
  open(client?: DynamoDBClient, signal?: AbortSignal): SlotStore;
  /** What is to be done to each task of a slot, as it is read now. */
  writesOf(slotKey: SlotKey, what: SlotWrite['what']): Promise<SlotWrite[]>;
}

export async function startSlotBed(): Promise<SlotBed> {
  const database = await startDatabase();
  let services = 0;
  const put: SlotBed['put'] = async (table, items) => {
    for (const item of items) {
      await database.client.send(new PutItemCommand({ TableName: table, Item: marshall(item) }));
    }
  };
  const open: SlotBed['open'] = (client = database.client, signal) => {
    return slotStore(client, database.tables, new Map(), signal);
  };
  return {
    database,
    put,
    open,
    async start(...states) {
      const serviceId = `svc-${++services}.` as ServiceId;
      const pool = `pool-${services}` as PoolName;
      const tasks = states.map((state, at) => {
        const { resources = {}, ...rest } = state;
        const ended = { state: 'failed', desiredState: 'shutdown', released: true } as const;
        return taskOf(`t${String(at).padStart(3, '0')}`, { serviceId, resources }, { ...ended, pool, ...rest });
      });
      await put(database.tables.tasks, tasks.map(taskItem));
      return { serviceId, pool, slotKey: `${serviceId}#1` as SlotKey, tasks };
    },
    async stored({ slotKey, taskId }) {
      const Key = marshall({ slotKey, taskId });
      const { Item } = await database.client.send(new GetItemCommand({ TableName: database.tables.tasks, Key }));
      return Item && unmarshall(Item);
    },
    async writesOf(slotKey, what) {
      const { tasks } = await open().readSlot(slotKey);
      return tasks.map((task) => ({ task, what }));
    },
  };
}

/** A client whose statements fail with `errors`, one each; undefined: it does not. */
export function failing(errors: readonly (BatchStatementError | undefined)[]): DynamoDBClient {
  const send = async () => ({ Responses: errors.map((failure) => (failure ? { Error: failure } : {})) });
  return { send } as unknown as DynamoDBClient;
}
