import type { TaskId } from '../ids.ts';
import { BOUNDS } from '../settings.ts';
import { type Account, type Exchange, exchanged, isReserved, namedBytesIn, namedBytesOf } from './account.ts';
import { type Claim, type ClaimKey, FREE } from './claims.ts';
import { amountOf, checkOrder, type Resources, TASKS_RESOURCE } from './resources.ts';

/** Why something does not fit a node. */
export interface Misfit {
  /** A code of a refusal (`plans/result.ts`), or the name of the resource that is short. */
  readonly code: string;
  readonly message: string;
}

/** One claim that a task asks for. */
interface Asked extends Claim {
  readonly taskId: TaskId;
}

/**
 * The first reason why `exchange` does not fit `account`, or undefined if it fits. What it gives back is given back
 * first. The order is that of the spec (plan-applier.md, "Deciding", 5): cores claimed twice, cpu, cores that are not
 * listed, memory, disk, the other resources by name, the number of tasks, ports, devices, volumes. Only what is asked
 * for is checked: a node whose capacity was lowered below its use still takes what needs none of that resource.
 */
export function misfitOf(account: Account, exchange: Exchange): Misfit | undefined {
  const after = exchanged(account, { gives: exchange.gives, takes: [] });
  const asked = exchange.takes.flatMap(({ taskId, claims }) => claims.map((claim): Asked => ({ ...claim, taskId })));
  const ofKind = (kind: Claim['kind']) => asked.filter((claim) => claim.kind === kind);
  const amounts = sumOf(exchange.takes.map(({ resources }) => resources));
  const others = checkOrder(amounts.keys()).filter((name) => name !== 'cpu');
  return (
    coreClaimedTwice(after, ofKind('core')) ??
    short(after, 'cpu', amounts) ??
    coreNotListed(after, ofKind('core')) ??
    others.map((name) => short(after, name, amounts)).find((misfit) => misfit !== undefined) ??
    tooMuchNamed(after, exchange.takes) ??
    portCollision(after, ofKind('port')) ??
    deviceUnavailable(after, ofKind('device')) ??
    deviceOversubscribed(after, ofKind('device')) ??
    volumeConflict(after, ofKind('volume'))
  );
}

/** Amounts by name, added up. */
export function sumOf(amounts: readonly Resources[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const resources of amounts) {
    for (const [name, amount] of Object.entries(resources)) {
      if (amount > 0) sums.set(name, (sums.get(name) ?? 0) + amount);
    }
  }
  return sums;
}

function short(account: Account, name: string, amounts: ReadonlyMap<string, number>): Misfit | undefined {
  const asked = amounts.get(name) ?? 0;
  const left = amountOf(account.free, name);
  if (asked === 0 || asked <= left) return undefined;
  const capacity = amountOf(account.capacity, name);
  if (name === TASKS_RESOURCE) {
    return { code: 'max-tasks', message: `${asked} more tasks asked for, ${left} of at most ${capacity} are left` };
  }
  return { code: name, message: `${asked} of ${name} asked for, ${left} of ${capacity} free` };
}

/** A node can write down so many ports and volumes, however many tasks it takes: past that it is full like one past its tasks. */
function tooMuchNamed(account: Account, takes: Exchange['takes']): Misfit | undefined {
  const asked = takes.reduce((sum, holding) => sum + namedBytesOf(holding), 0);
  if (asked === 0) return undefined;
  const most = BOUNDS.namedClaimBytesPerNode;
  const left = most - namedBytesIn(account);
  if (asked <= left) return undefined;
  const message = `the ports and volumes asked for take ${asked} bytes to write down, ${left} of ${most} are left on the node`;
  return { code: TASKS_RESOURCE, message };
}

/** The first claim of `asked` that is made twice: by two of `asked`, or beside the holder that the account names. */
function claimedTwice(account: Account, asked: readonly Asked[]): { claim: Asked; holder: string } | undefined {
  const taken = new Map<ClaimKey, string>();
  for (const claim of asked) {
    const holder = taken.get(claim.key) ?? account.claims.get(claim.key) ?? FREE;
    if (holder !== FREE) return { claim, holder };
    taken.set(claim.key, claim.taskId);
  }
  return undefined;
}

function heldBy({ name }: Asked, holder: string): string {
  return `${name} is held by task ${holder}`;
}

function coreClaimedTwice(account: Account, cores: readonly Asked[]): Misfit | undefined {
  const twice = claimedTwice(account, cores);
  return twice && { code: 'cores', message: heldBy(twice.claim, twice.holder) };
}

function coreNotListed(account: Account, cores: readonly Asked[]): Misfit | undefined {
  const claim = cores.find(({ key }) => !account.claims.has(key) || account.withdrawn.has(key));
  return claim && { code: 'cores', message: `${claim.name} is not among the cores that the node lists` };
}

/**
 * The later of two claims collides, and only its own `ignoreCollision` lets it pass. A task that passed holds the port as
 * well, and goes on holding it when the other has left. A reserved port counts as held.
 */
function portCollision(account: Account, ports: readonly Asked[]): Misfit | undefined {
  const taken = new Map<ClaimKey, string>();
  for (const claim of ports) {
    const [sharer] = account.sharers.get(claim.key) ?? [];
    const holder = taken.get(claim.key) ?? account.claims.get(claim.key) ?? sharer;
    if (claim.mode === 'exclusive') {
      if (holder !== undefined) return { code: 'port-collision', message: heldBy(claim, holder) };
      const [, ip = '', port = ''] = /^port\/(.*)\/(\d+)$/.exec(claim.key) ?? [];
      if (isReserved(account, ip, Number(port))) {
        return { code: 'port-collision', message: `${claim.name} is reserved by the node` };
      }
    }
    if (holder === undefined) taken.set(claim.key, claim.taskId);
  }
  return undefined;
}

function deviceUnavailable(account: Account, devices: readonly Asked[]): Misfit | undefined {
  for (const { key, name } of devices) {
    if (!account.claims.has(key)) return { code: 'device-unavailable', message: `${name} is not listed by the node` };
    if (account.withdrawn.has(key))
      return { code: 'device-unavailable', message: `${name} is unhealthy, or listed no more` };
  }
  return undefined;
}

function deviceOversubscribed(account: Account, devices: readonly Asked[]): Misfit | undefined {
  const twice = claimedTwice(account, devices);
  return twice && { code: 'device-oversubscribed', message: heldBy(twice.claim, twice.holder) };
}

/** A single-writer claim stands beside no other claim of its volume, of whatever mode. */
function volumeConflict(account: Account, volumes: readonly Asked[]): Misfit | undefined {
  const writers = new Map<ClaimKey, string>();
  const sharers = new Map<ClaimKey, string>();
  for (const [key, holder] of account.claims) writers.set(key, holder);
  for (const [key, tasks] of account.sharers) for (const task of tasks) sharers.set(key, task);
  for (const claim of volumes) {
    const holder = writers.get(claim.key) ?? (claim.mode === 'exclusive' ? sharers.get(claim.key) : undefined);
    if (holder !== undefined) {
      return {
        code: 'volume-conflict',
        message: `${heldBy(claim, holder)}, and one of the two claims it as single-writer`,
      };
    }
    (claim.mode === 'exclusive' ? writers : sharers).set(claim.key, claim.taskId);
  }
  return undefined;
}
