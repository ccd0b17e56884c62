import { type TransactWriteItem, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import type { NodeId, PoolName } from '../ids.ts';
import { type Account, accountOf } from '../nodes/account.ts';
import { type NodeSpec, type NodeSpecInput, nodeSpecSchema } from '../nodes/node.ts';
import type { Pool } from '../nodes/pool.ts';
import { InvalidInputError, type Problem, parsed } from '../schema.ts';
import { accountFromItem, accountKey, profileKey } from '../store/account-item.ts';
import { marshall, unmarshall } from '../store/dynamo.ts';
import { cancellationReasons, storeError } from '../store/errors.ts';
import { accountWrite } from '../store/writes.ts';
import type { EpochMs } from '../time.ts';
import type { NodeConnection } from './connection.ts';
import { readPool } from './pools.ts';
import { retrying } from './retrying.ts';

/** Nodes of one transaction: two items each. */
const GROUP = 40;
/** Transactions under way at once. */
const LANES = 4;

/**
 * Registers nodes, or registers them again: a new capacity moves what is free by the difference, what tasks hold stays.
 * All are checked before the first is written; then each is written whole or not at all. Safe to run again after a failure.
 */
export async function registerNodes(
  connection: NodeConnection,
  inputs: readonly NodeSpecInput[],
  onProgress?: (done: number, of: number) => void,
): Promise<void> {
  await register(connection, inputs, undefined, onProgress);
}

/**
 * As `registerNodes`, for whoever goes by what it has seen: a node whose profile is of another revision than `seen` names
 * has been registered by somebody else meanwhile, and is left as it is, as is one that is there and not in `seen`. Answers
 * the ids of those.
 */
export async function registerNodesAsSeen(
  connection: NodeConnection,
  inputs: readonly NodeSpecInput[],
  seen: ReadonlyMap<string, number>,
): Promise<NodeId[]> {
  return register(connection, inputs, seen);
}

type Seen = ReadonlyMap<string, number> | undefined;

async function register(
  connection: NodeConnection,
  inputs: readonly NodeSpecInput[],
  seen: Seen,
  onProgress: (done: number, of: number) => void = () => undefined,
): Promise<NodeId[]> {
  const specs = inputs.map((input, at) =>
    parsed(nodeSpecSchema, input, inputs.length === 1 ? 'the node' : `node [${at}]`),
  );
  const twice = repeated(specs);
  if (twice.length > 0) throw new InvalidInputError('the list of nodes', twice);
  const pools = new Map<PoolName, Pool>();
  for (const pool of new Set(specs.map((spec) => spec.pool))) pools.set(pool, await readPool(connection, pool));

  const groups: { pool: Pool; specs: NodeSpec[] }[] = [];
  for (const [name, pool] of pools) {
    const own = specs.filter((spec) => spec.pool === name);
    for (let at = 0; at < own.length; at += GROUP) groups.push({ pool, specs: own.slice(at, at + GROUP) });
  }
  let done = 0;
  const left: NodeId[] = [];
  const queue = groups.values();
  const lane = async () => {
    for (const group of queue) {
      left.push(...(await registerGroup(connection, group.pool, group.specs, seen)));
      done += group.specs.length;
      onProgress(done, specs.length);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return left;
}

function repeated(specs: readonly NodeSpec[]): Problem[] {
  const seen = new Set<string>();
  return specs.flatMap(({ pool, nodeId }, at) => {
    const key = `${pool} ${nodeId}`;
    if (seen.has(key)) return [{ path: `[${at}].nodeId`, message: `node ${nodeId} stands in the list already` }];
    seen.add(key);
    return [];
  });
}

/** Writes a group as if none of its nodes were there; those that are come back with the refusal, and are written anew from what they are. */
async function registerGroup(
  connection: NodeConnection,
  pool: Pool,
  specs: readonly NodeSpec[],
  seen: Seen,
): Promise<NodeId[]> {
  const { dynamo, tables } = connection;
  const accounts = new Map<NodeId, Account>();
  const isAnothers = ({ nodeId }: NodeSpec) => {
    const account = accounts.get(nodeId);
    return seen !== undefined && account !== undefined && account.profile !== seen.get(nodeId);
  };
  await retrying(async () => {
    const now = connection.clock();
    const own = specs.filter((spec) => !isAnothers(spec));
    if (own.length === 0) return;
    const writes = own.flatMap((spec) => {
      const before = accounts.get(spec.nodeId);
      const known = accountOf(spec, before);
      // A node that was removed and is registered again must not pass for what it was: revisions begin with the time.
      const image = before ? known : { ...known, profile: now };
      return [
        accountWrite(tables.nodes, accountKey(pool.pool, pool.shards, spec.nodeId), { kind: 'known', image }),
        profileWrite(tables.nodes, pool, spec, image.profile, now),
      ];
    });
    try {
      await dynamo.send(new TransactWriteItemsCommand({ TransactItems: writes }));
    } catch (error) {
      const reasons = cancellationReasons(error) ?? [];
      own.forEach(({ nodeId }, at) => {
        const reason = reasons[2 * at];
        if (reason?.Code !== 'ConditionalCheckFailed') return;
        if (reason.Item)
          accounts.set(nodeId, accountFromItem(unmarshall(reason.Item as Parameters<typeof unmarshall>[0])));
        else accounts.delete(nodeId);
      });
      throw storeError(error);
    }
  });
  return specs.filter(isAnothers).map(({ nodeId }) => nodeId);
}

/** Times of its own and events stay as they are. */
function profileWrite(table: string, pool: Pool, spec: NodeSpec, revision: number, now: EpochMs): TransactWriteItem {
  const { nodeId, addresses, devices, labels, cores, reservedPorts, maxTasks } = spec;
  const values = { addresses, devices, labels, cores, reservedPorts, revision, maxTasks: maxTasks ?? null };
  const names = Object.keys(values);
  return {
    Update: {
      TableName: table,
      Key: marshall(profileKey(pool.pool, pool.shards, nodeId)),
      UpdateExpression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}, #at = if_not_exists(#at, :now), #events = if_not_exists(#events, :none)`,
      ExpressionAttributeNames: {
        ...Object.fromEntries(names.map((name) => [`#${name}`, name])),
        '#at': 'registeredAt',
        '#events': 'events',
      },
      ExpressionAttributeValues: marshall({
        ...Object.fromEntries(Object.entries(values).map(([name, value]) => [`:${name}`, value])),
        ':now': now,
        ':none': [],
      }),
    },
  };
}
