import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { type Item, marshall, unmarshall } from '../lib/store/dynamo.ts';

/**
 * The tables of tasks and services in this process, as a client that counts what is asked of it. The local DynamoDB takes
 * longer for a write the longer a stream is, so that an experiment of a hundred thousand tasks would take it hours; what is
 * counted is what the product's own code sends, and does not depend on who answers. Conditions are looked at as far as
 * the reaper and the sweeper state them, and anything else that is sent throws.
 */
export class CountedDatabase {
  readonly client: DynamoDBClient;
  readonly tables = { tasks: 'tasks', services: 'services', nodes: 'nodes', pools: 'pools' } as const;
  /** Requests by operation. */
  readonly requests = new Map<string, number>();
  /** Tasks by slot, then by id. */
  readonly #slots = new Map<string, Map<string, Item>>();
  readonly #byService = new Map<string, Map<string, Item>>();
  readonly #services = new Map<string, Item>();

  constructor() {
    const send = async (command: object) => {
      const name = command.constructor.name.replace(/Command$/, '');
      this.requests.set(name, (this.requests.get(name) ?? 0) + 1);
      return this.#answer(command);
    };
    this.client = { send } as unknown as DynamoDBClient;
  }

  get total(): number {
    return [...this.requests.values()].reduce((sum, count) => sum + count, 0);
  }

  putTask(item: Item): void {
    const [slotKey, taskId] = [String(item.slotKey), String(item.taskId)];
    inner(this.#slots, slotKey).set(taskId, item);
    if (item.serviceId !== undefined) inner(this.#byService, String(item.serviceId)).set(`${taskId} ${slotKey}`, item);
  }

  putService(item: Item): void {
    this.#services.set(String(item.serviceId), item);
  }

  get tasks(): number {
    return [...this.#slots.values()].reduce((sum, slot) => sum + slot.size, 0);
  }

  #answer(command: object): object {
    if (command instanceof QueryCommand) return this.#query(command.input);
    if (command instanceof BatchGetItemCommand) {
      const keys = command.input.RequestItems?.[this.tables.services]?.Keys ?? [];
      const found = keys.map((key) => this.#services.get(String(unmarshall(key).serviceId)));
      return { Responses: { [this.tables.services]: found.filter((item) => item !== undefined).map(plain) } };
    }
    if (command instanceof GetItemCommand && command.input.TableName === this.tables.services) {
      const item = this.#services.get(String(unmarshall(command.input.Key ?? {}).serviceId));
      return item ? { Item: plain(item) } : {};
    }
    if (command instanceof PutItemCommand && command.input.TableName === this.tables.services) {
      this.putService(unmarshall(command.input.Item ?? {}));
      return {};
    }
    if (command instanceof BatchExecuteStatementCommand) {
      return { Responses: (command.input.Statements ?? []).map((statement) => this.#execute(statement)) };
    }
    if (command instanceof TransactWriteItemsCommand) {
      for (const { Update } of command.input.TransactItems ?? []) this.#mark(Update);
      return {};
    }
    if (command instanceof ScanCommand) throw new Error('the experiment scans nothing');
    throw new Error(`the experiment knows no ${command.constructor.name}`);
  }

  #query({ IndexName, ExpressionAttributeValues = {} }: QueryCommand['input']): object {
    const [key] = Object.values(unmarshall(ExpressionAttributeValues)).map(String);
    const found = (IndexName === undefined ? this.#slots : this.#byService).get(key ?? '');
    return { Items: [...(found?.values() ?? [])].map(plain) };
  }

  #execute({
    Statement = '',
    Parameters = [],
  }: {
    Statement?: string | undefined;
    Parameters?: unknown[] | undefined;
  }): object {
    const names = [...Statement.matchAll(/"(\w+)" = \?/g)].map(([, name]) => name ?? '');
    if (!Statement.startsWith('DELETE FROM') || names.length !== Parameters.length) {
      throw new Error(`the experiment knows no statement ${Statement}`);
    }
    const values = names.map((name, at) => [name, { v: Parameters[at] }] as const);
    const wanted = Object.fromEntries(values.map(([name, { v }]) => [name, unmarshall({ v: v as never }).v]));
    const slot = this.#slots.get(String(wanted.slotKey));
    const item = slot?.get(String(wanted.taskId));
    if (item === undefined) return {};
    if (names.some((name) => item[name] !== wanted[name])) return { Error: { Code: 'ConditionalCheckFailed' } };
    slot?.delete(String(wanted.taskId));
    this.#byService.get(String(item.serviceId))?.delete(`${wanted.taskId} ${wanted.slotKey}`);
    return {};
  }

  #mark(update: { Key?: Record<string, unknown> | undefined } | undefined): void {
    const { slotKey, taskId } = unmarshall((update?.Key ?? {}) as never);
    const item = this.#slots.get(String(slotKey))?.get(String(taskId));
    if (item === undefined) throw new Error('the experiment marks what is there');
    this.putTask({ ...item, desiredState: 'remove', version: Number(item.version) + 1 });
  }
}

const plain = (item: Item) => marshall(item);

function inner<K, V>(map: Map<K, Map<string, V>>, key: K): Map<string, V> {
  const known = map.get(key) ?? new Map<string, V>();
  map.set(key, known);
  return known;
}
