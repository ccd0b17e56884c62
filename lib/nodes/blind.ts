import type { TaskId } from '../ids.ts';
import { type Exchange, type Holding, namedBytesOf } from './account.ts';
import { type ClaimKey, isPort } from './claims.ts';
import { sumOf } from './fit.ts';

/**
 * What a batch does to a node whose account it has not read: an update whose conditions say everything that must hold
 * for it to fit. If one does not hold, the database refuses and shows the account, and the batch is decided on that.
 */
export interface BlindChange {
  /** What the node must be: there at all, ready (in-place updates), or schedulable (new tasks). */
  readonly demand: Demand;
  /** Taken of each resource, all in all; negative: given back. */
  readonly net: ReadonlyMap<string, number>;
  /** What must be free of each resource before, so that each part fits in its turn: the highest point on the way to `net`. */
  readonly need: ReadonlyMap<string, number>;
  /** The same of the bytes that ports and volumes take of the account; `need` is there if some are taken. */
  readonly named: { readonly net: number; readonly need?: number };
  readonly claims: ReadonlyMap<ClaimKey, BlindClaim>;
  /** Tasks that come to share a volume, which nobody may hold alone, or a port, whoever holds it. */
  readonly joins: ReadonlyMap<ClaimKey, ReadonlySet<TaskId>>;
  /** Tasks that leave off sharing; of a port each of them must have shared it. */
  readonly leaves: ReadonlyMap<ClaimKey, ReadonlySet<TaskId>>;
}

export type Demand = 'there' | 'ready' | 'schedulable';

export type BlindClaim =
  /** Nobody may hold or share it; `task` holds it afterwards. */
  | { readonly op: 'take'; readonly task: TaskId }
  /** `task` must hold it; nobody does afterwards. */
  | { readonly op: 'release'; readonly task: TaskId }
  /** `from` must hold it, and nobody share it; `task` holds it afterwards. */
  | { readonly op: 'pass'; readonly from: TaskId; readonly task: TaskId };

/**
 * How many claims and resources a blind update may name: an expression of DynamoDB holds at most 4 KB of text, and a
 * claim takes up to 150 characters of condition.
 */
const MAX_CLAIMS = 20;
const MAX_RESOURCES = 24;

const NOTHING: BlindChange = {
  demand: 'there',
  net: new Map(),
  need: new Map(),
  named: { net: 0 },
  claims: new Map(),
  joins: new Map(),
  leaves: new Map(),
};

type Shares = Pick<BlindChange, 'joins' | 'leaves'>;

const RANK: Readonly<Record<Demand, number>> = { there: 0, ready: 1, schedulable: 2 };

/**
 * `change` and then `exchange`; undefined if conditions cannot say it, so that the account must be read: two claims on
 * one thing, more names than an expression holds, an amount past the safe integers.
 */
export function blindly(change: BlindChange | undefined, exchange: Exchange, demand: Demand): BlindChange | undefined {
  const before = change ?? NOTHING;
  const amounts = blindAmounts(before, exchange);
  const claims = blindClaims(before.claims, exchange);
  const shares = blindShares(before, exchange);
  if (!amounts || !claims || !shares) return undefined;
  // What is both shared and held alone in one change: which came first, conditions cannot say.
  for (const key of claims.keys()) if (shares.joins.has(key) || shares.leaves.has(key)) return undefined;
  if (claims.size + countShares(shares) > MAX_CLAIMS || amounts.net.size > MAX_RESOURCES) return undefined;
  return {
    demand: RANK[demand] > RANK[before.demand] ? demand : before.demand,
    ...amounts,
    named: blindNamed(before.named, exchange),
    claims,
    ...shares,
  };
}

function blindAmounts(before: BlindChange, { gives, takes }: Exchange): Pick<BlindChange, 'net' | 'need'> | undefined {
  const net = new Map(before.net);
  const need = new Map(before.need);
  for (const [name, amount] of sumOf(gives.map(({ resources }) => resources)))
    net.set(name, (net.get(name) ?? 0) - amount);
  for (const [name, amount] of sumOf(takes.map(({ resources }) => resources))) {
    const total = (net.get(name) ?? 0) + amount;
    net.set(name, total);
    need.set(name, Math.max(need.get(name) ?? total, total));
  }
  const safe = [...net.values(), ...need.values()].every(Number.isSafeInteger);
  return safe ? { net, need } : undefined;
}

function blindNamed(before: BlindChange['named'], { gives, takes }: Exchange): BlindChange['named'] {
  const bytes = (holdings: readonly Holding[]) => holdings.reduce((sum, holding) => sum + namedBytesOf(holding), 0);
  const taken = bytes(takes);
  const net = before.net - bytes(gives) + taken;
  return taken === 0 ? { ...before, net } : { net, need: Math.max(before.need ?? net, net) };
}

function blindClaims(before: BlindChange['claims'], { gives, takes }: Exchange): Map<ClaimKey, BlindClaim> | undefined {
  const claims = new Map(before);
  for (const { taskId, claims: held } of gives) {
    for (const { key, mode } of held) {
      if (mode !== 'exclusive') continue;
      if (claims.has(key)) return undefined;
      claims.set(key, { op: 'release', task: taskId });
    }
  }
  for (const { taskId, claims: asked } of takes) {
    for (const { key, mode } of asked) {
      if (mode !== 'exclusive') continue;
      const earlier = claims.get(key);
      if (earlier === undefined) claims.set(key, { op: 'take', task: taskId });
      else if (earlier.op === 'release') claims.set(key, { op: 'pass', from: earlier.task, task: taskId });
      else return undefined;
    }
  }
  return claims;
}

function blindShares(before: BlindChange, { gives, takes }: Exchange): Shares | undefined {
  const joins = new Map(before.joins);
  const leaves = new Map(before.leaves);
  const add = (map: Map<ClaimKey, ReadonlySet<TaskId>>, key: ClaimKey, task: TaskId) =>
    map.set(key, new Set([...(map.get(key) ?? []), task]));
  for (const { taskId, claims } of gives)
    for (const { key, mode } of claims) if (mode !== 'exclusive') add(leaves, key, taskId);
  for (const { taskId, claims } of takes)
    for (const { key, mode } of claims) if (mode !== 'exclusive') add(joins, key, taskId);
  for (const key of joins.keys()) if (leaves.has(key)) return undefined;
  return { joins, leaves };
}

/** How many names they take of an expression: one a thing, but each task that leaves a port has a condition of its own. */
function countShares({ joins, leaves }: Shares): number {
  return [...leaves].reduce((sum, [key, tasks]) => sum + (isPort(key) ? tasks.size : 1), joins.size);
}
