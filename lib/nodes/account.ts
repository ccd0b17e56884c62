import type { NodeId, TaskId } from '../ids.ts';
import { BOUNDS } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import {
  ANY_ADDRESS,
  type Claim,
  type ClaimKey,
  coreKey,
  deviceKey,
  FREE,
  isListed,
  namedBytes,
  portKey,
  type Sharers,
} from './claims.ts';
import type { Eligibility, NodeSpec, NodeStatus } from './node.ts';
import { countPorts, inRanges, mergeRanges, type PortRanges, parsePortRanges } from './ports.ts';
import { amountOf, type Resources, TASKS_RESOURCE, UNLIMITED_TASKS } from './resources.ts';

/**
 * The account of a node: what is there, what is left of it, who holds what. All that deciding about a placement needs
 * stands here, in one item that every placement writes, so that the database itself can refuse what does not fit.
 */
export interface Account {
  readonly nodeId: NodeId;
  readonly status: NodeStatus;
  readonly eligibility: Eligibility;
  readonly drain: boolean;
  /** When an ineligible node is eligible again by itself. Not there: when an operator says so. */
  readonly eligibleAt?: EpochMs | undefined;
  /** What tasks may use, the number of tasks included. */
  readonly capacity: Resources;
  /** What is left: capacity less what unreleased tasks use. Negative where the capacity was lowered below that. */
  readonly free: Resources;
  /** Holder of each exclusive claim; `FREE` for a listed thing that nobody holds. */
  readonly claims: ReadonlyMap<ClaimKey, string>;
  /** Volumes that tasks hold together, and ports that tasks hold beside their holder, of whom there may be none. */
  readonly sharers: ReadonlyMap<ClaimKey, Sharers>;
  /** Keys that nobody may claim: reserved ports, unhealthy devices, things that the node lists no more but a task still holds. */
  readonly withdrawn: ReadonlySet<ClaimKey>;
  /** Reserved ports that are too many to stand as keys, by address (`*`: every address). */
  readonly reservedRanges: ReadonlyMap<string, PortRanges>;
  /** Revision of the node's profile that belongs to it: who has read that one need not read it again. */
  readonly profile: number;
  /** Counted up by every write: whoever writes what it computed from a copy compares it. */
  readonly version: number;
  /** The pool's index of the last commit that changed it. */
  readonly index: number;
}

/** Whether a new task may be placed on the node. What the account's `schedulable` is derived from. */
export function isSchedulable({
  status,
  eligibility,
  drain,
}: Pick<Account, 'status' | 'eligibility' | 'drain'>): boolean {
  return status === 'ready' && eligibility === 'eligible' && !drain;
}

/** `account` as it is at `now`: eligible again, if its time has come. */
export function accountAt(account: Account, now: EpochMs): Account {
  const { eligibleAt, ...rest } = account;
  return eligibleAt !== undefined && eligibleAt <= now ? { ...rest, eligibility: 'eligible' } : account;
}

/** `account` made ineligible, for good or until `eligibleAt`. */
export function madeIneligible(account: Account, eligibleAt: EpochMs | undefined): Account {
  return { ...account, eligibility: 'ineligible', ...(eligibleAt === undefined ? {} : { eligibleAt }) };
}

/** Whether nobody may claim `port` on `ip`, the node having reserved it. */
export function isReserved(account: Account, ip: string, port: number): boolean {
  return (
    account.withdrawn.has(portKey(ip, port)) ||
    account.withdrawn.has(portKey(ANY_ADDRESS, port)) ||
    [ip, ANY_ADDRESS].some((address) => inRanges(account.reservedRanges.get(address) ?? [], port))
  );
}

/** Reserved ports by address, `*` for those of every address. */
function reservations(spec: NodeSpec): Map<string, PortRanges> {
  const byAddress = new Map<string, PortRanges>();
  const add = (address: string, text: string) => {
    const ranges = mergeRanges([...(byAddress.get(address) ?? []), ...(parsePortRanges(text) ?? [])]);
    if (ranges.length > 0) byAddress.set(address, ranges);
  };
  add(ANY_ADDRESS, spec.reservedPorts);
  for (const { ip, reservedPorts } of spec.addresses) add(ip, reservedPorts ?? '');
  return byAddress;
}

/** The account of a node as `spec` describes it: anew, or `before` with the spec's values and everything that tasks hold. */
export function accountOf(spec: NodeSpec, before?: Account): Account {
  const capacity: Resources = { ...spec.capacity, [TASKS_RESOURCE]: spec.maxTasks ?? UNLIMITED_TASKS };
  const free: Record<string, number> = {};
  const names = new Set([...Object.keys(capacity), ...Object.keys(before?.free ?? {})]);
  for (const name of names) {
    const used = before ? amountOf(before.capacity, name) - amountOf(before.free, name) : 0;
    const left = amountOf(capacity, name) - used;
    if (Object.hasOwn(capacity, name) || left !== 0) free[name] = left;
  }

  const listed = new Set<ClaimKey>([...spec.cores.map(coreKey), ...spec.devices.map(({ id }) => deviceKey(id))]);
  const claims = new Map<ClaimKey, string>();
  const withdrawn = new Set<ClaimKey>();
  for (const key of listed) claims.set(key, FREE);
  for (const [key, holder] of before?.claims ?? []) {
    if (holder === FREE) continue;
    claims.set(key, holder);
    if (isListed(key) && !listed.has(key)) withdrawn.add(key);
  }
  for (const { id, healthy } of spec.devices) if (!healthy) withdrawn.add(deviceKey(id));

  const reserved = reservations(spec);
  const wide = [...reserved.values()].reduce((sum, ranges) => sum + countPorts(ranges), 0) > BOUNDS.reservedPortClaims;
  if (!wide) {
    for (const [address, ranges] of reserved) {
      for (const [from, to] of ranges) for (let port = from; port <= to; port++) withdrawn.add(portKey(address, port));
    }
  }

  // An agent that registers its node once more says nothing of eligibility: what ends by itself must go on ending.
  const eligibleAt = spec.eligibility === undefined ? before?.eligibleAt : undefined;
  return {
    nodeId: spec.nodeId,
    status: spec.status ?? 'ready',
    eligibility: spec.eligibility ?? before?.eligibility ?? 'eligible',
    drain: spec.drain ?? before?.drain ?? false,
    ...(eligibleAt === undefined ? {} : { eligibleAt }),
    capacity,
    free,
    claims,
    sharers: before?.sharers ?? new Map(),
    withdrawn,
    reservedRanges: wide ? reserved : new Map(),
    profile: (before?.profile ?? 0) + 1,
    version: (before?.version ?? 0) + 1,
    index: before?.index ?? 0,
  };
}

/** What a node part gives back and takes, all of it of the same node. */
export interface Exchange {
  readonly gives: readonly Holding[];
  readonly takes: readonly Holding[];
}

/** What one task has, or is to have, of its node. */
export interface Holding {
  readonly taskId: TaskId;
  readonly resources: Resources;
  readonly claims: readonly Claim[];
}

/** Bytes that the ports and volumes of `holding` take of its node's account (`BOUNDS.namedClaimBytesPerNode`). */
export function namedBytesOf({ taskId, claims }: Holding): number {
  const entries = new Map(claims.map(({ key, mode }) => [`${mode} ${key}`, key]));
  return [...entries.values()].reduce((sum, key) => sum + namedBytes(key, taskId), 0);
}

/** Bytes that all ports and volumes that tasks hold take of `account`. */
export function namedBytesIn({ claims, sharers }: Account): number {
  let bytes = 0;
  for (const [key, holder] of claims) bytes += namedBytes(key, holder);
  for (const [key, tasks] of sharers) for (const task of tasks) bytes += namedBytes(key, task);
  return bytes;
}

/** `account` after `exchange`: gives first. Nothing is checked: whoever calls has decided, or mends a drift. */
export function exchanged(account: Account, { gives, takes }: Exchange): Account {
  const free: Record<string, number> = { ...account.free };
  const claims = new Map(account.claims);
  const sharers = new Map<ClaimKey, Sharers>(account.sharers);
  const move = (resources: Resources, sign: 1 | -1) => {
    for (const [name, amount] of Object.entries(resources)) {
      const left = (Object.hasOwn(free, name) ? (free[name] ?? 0) : 0) + sign * amount;
      // A resource without capacity and without use is not written down: the item must not grow with every name ever seen.
      if (left === 0 && !Object.hasOwn(account.capacity, name)) delete free[name];
      else free[name] = left;
    }
  };
  for (const { taskId, resources, claims: held } of gives) {
    move(resources, 1);
    for (const { key, mode } of held) {
      // Accounts that an earlier version has written name a task that found its port free as the holder, ignoring or not.
      if (mode === 'shared' || (mode === 'ignoring' && sharers.get(key)?.has(taskId))) {
        const left = new Set([...(sharers.get(key) ?? [])].filter((sharer) => sharer !== taskId));
        if (left.size > 0) sharers.set(key, left);
        else sharers.delete(key);
      } else if (claims.get(key) === taskId) {
        if (isListed(key)) claims.set(key, FREE);
        else claims.delete(key);
      }
    }
  }
  for (const { taskId, resources, claims: asked } of takes) {
    move(resources, -1);
    for (const { key, mode } of asked) {
      if (mode === 'exclusive') claims.set(key, taskId);
      else sharers.set(key, new Set([...(sharers.get(key) ?? []), taskId]));
    }
  }
  return { ...account, free, claims, sharers };
}
