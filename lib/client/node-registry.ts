import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { NodeId, PoolName } from '../ids.ts';
import { type Account, accountAt } from '../nodes/account.ts';
import type { Profile } from '../nodes/profile.ts';
import { TASKS_RESOURCE } from '../nodes/resources.ts';
import { CallError } from '../scaler/call-error.ts';
import type { RegisteredNode } from '../scaler/observation.ts';
import type { NodeRegistry } from '../scaler/ports.ts';
import { InvalidInputError } from '../schema.ts';
import { SCALER } from '../settings.ts';
import { isStoreError, PermanentError, type StoreError } from '../store/errors.ts';
import type { EpochMs } from '../time.ts';
import type { NodeConnection } from './connection.ts';
import { NodeNotFoundError, readNodes } from './nodes.ts';
import { PoolNotFoundError, poolsShards } from './pools.ts';
import { registerNodesAsSeen } from './register-nodes.ts';
import { NodeHoldsTasksError, NodeRegisteredAnewError, removeNode } from './remove-node.ts';
import { allNodes } from './snapshot.ts';

/**
 * The Nodes table as the node scaler of `cluster` asks for it: nodes are registered, changed and removed as by
 * `berth node`. A call ends after `SCALER.registryCallMs`, or with `signal`: what cannot be told of a registry must not
 * take the time that machines need. Throws CallError alone.
 *
 * What it takes of the tables: Pools GetItem, BatchGetItem, UpdateItem; Nodes BatchGetItem, Query, PutItem, UpdateItem,
 * DeleteItem; Tasks BatchGetItem, Scan, PutItem, and Query of its index by node; Rejections DeleteItem.
 */
export function nodeRegistry(connection: NodeConnection, cluster: string, signal?: AbortSignal): NodeRegistry {
  const call = <T>(what: (bounded: NodeConnection) => Promise<T>) => answered(connection, signal, what);
  return {
    cluster,
    read: (nodes) => call((bounded) => read(bounded, nodes)),
    list: (pool) =>
      call(async (bounded) => {
        const name = pool as PoolName;
        const shards = (await poolsShards(bounded, [name])).get(name);
        const stored = shards === undefined ? [] : await allNodes(bounded, name, shards);
        return registered(stored, bounded.clock()).map(({ node }) => node);
      }),
    register: (nodes) =>
      call((bounded) =>
        registerNodesAsSeen(
          bounded,
          nodes.map(({ spec }) => spec),
          new Map(nodes.flatMap(({ seen }) => (seen ? [[seen.nodeId, seen.revision] as const] : []))),
        ),
      ),
    remove: (pool, { nodeId, revision }, { force }) =>
      call((bounded) => remove(bounded, pool as PoolName, nodeId as NodeId, { force, revision })),
  };
}

async function read(
  connection: NodeConnection,
  nodes: ReadonlyMap<string, readonly string[]>,
): Promise<Map<string, Map<string, RegisteredNode>>> {
  const shards = await poolsShards(connection, [...nodes.keys()] as PoolName[]);
  const asked = [...shards].flatMap(([pool, of]) =>
    (nodes.get(pool) ?? []).map((node) => ({ pool, shards: of, node: node as NodeId })),
  );
  const answer = new Map([...shards.keys()].map((pool) => [pool as string, new Map<string, RegisteredNode>()]));
  for (const { pool, node } of registered(await readNodes(connection, asked), connection.clock())) {
    answer.get(pool)?.set(node.nodeId, node);
  }
  return answer;
}

/** An account and its profile are read at two moments: without one of them the node is being registered, or removed. */
function registered<T extends { readonly account: Account | undefined; readonly profile: Profile | undefined }>(
  stored: readonly T[],
  now: EpochMs,
): (T & { readonly node: RegisteredNode })[] {
  return stored.flatMap((one) => {
    const { account, profile } = one;
    if (!account || !profile) return [];
    const { [TASKS_RESOURCE]: _tasks, ...capacity } = account.capacity;
    const node: RegisteredNode = {
      nodeId: account.nodeId,
      capacity,
      labels: profile.labels,
      status: account.status,
      drain: account.drain,
      ineligible: accountAt(account, now).eligibility === 'ineligible',
      // Of the labels, which say whose it is: should the account be newer, nothing is changed.
      revision: profile.revision,
    };
    return [{ ...one, node }];
  });
}

async function remove(
  connection: NodeConnection,
  pool: PoolName,
  node: NodeId,
  options: { readonly force: boolean; readonly revision: number },
): Promise<number | 'held'> {
  try {
    return await removeNode(connection, pool, node, options);
  } catch (error) {
    if (error instanceof NodeHoldsTasksError) return 'held';
    if (error instanceof NodeNotFoundError) return 0;
    throw error;
  }
}

/** What a call comes to that is given no more time than it may take; what it throws, as a CallError. */
async function answered<T>(
  connection: NodeConnection,
  signal: AbortSignal | undefined,
  what: (bounded: NodeConnection) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(SCALER.registryCallMs);
  const ends = signal ? AbortSignal.any([signal, limit]) : limit;
  try {
    return await what({ ...connection, dynamo: { send: sendUntil(connection.dynamo, ends) } });
  } catch (error) {
    throw ends.aborted ? timedOut(error) : callError(error);
  }
}

/** Sends until `ends`; from then on what is sent has failed for good, so that nobody tries it again. */
function sendUntil(dynamo: NodeConnection['dynamo'], ends: AbortSignal): DynamoDBClient['send'] {
  const send = dynamo.send.bind(dynamo) as (command: unknown, options: object) => Promise<unknown>;
  const until = async (command: unknown, options: object = {}) => {
    try {
      return await send(command, { ...options, abortSignal: ends });
    } catch (error) {
      throw ends.aborted ? new PermanentError('there was no answer in time', { cause: error }) : error;
    }
  };
  return until as DynamoDBClient['send'];
}

const STORE_KINDS = { RetryError: 'unknown', ConflictError: 'conflict', PermanentError: 'refused' } as const;

function timedOut(cause: unknown): CallError {
  return new CallError('unknown', 'Timeout', `there was no answer within ${SCALER.registryCallMs} ms`, { cause });
}

/** What is no answer of the registry is a bug, and stays what it is. */
function callError(error: unknown): unknown {
  if (error instanceof NodeRegisteredAnewError) return callErrorOf('conflict', error);
  if (error instanceof PoolNotFoundError || error instanceof InvalidInputError) return callErrorOf('refused', error);
  return isStoreError(error) ? callErrorOf(kindOf(error), error) : error;
}

function kindOf(error: StoreError): CallError['kind'] {
  if (error.name !== 'BugError') return STORE_KINDS[error.name];
  return error.cause instanceof Error && error.cause.name === 'AccessDeniedException' ? 'denied' : 'refused';
}

function callErrorOf(kind: CallError['kind'], error: Error): CallError {
  const code = error.cause instanceof Error ? error.cause.name : error.name;
  return new CallError(kind, code, error.message, { cause: error });
}
