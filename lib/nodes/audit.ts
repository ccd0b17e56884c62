import type { TaskId } from '../ids.ts';
import { type Account, exchanged, type Holding } from './account.ts';
import { type ClaimKey, FREE, isListed, isPort } from './claims.ts';
import { amountOf, checkOrder } from './resources.ts';

/** One thing in which an account differs from what the tasks of its node hold. */
export interface Drift {
  /** What it is about: `free.cpu`, `claims.port/10.0.0.5/8080`, `sharers.volume/data`. */
  readonly at: string;
  readonly stored: string;
  readonly expected: string;
  /** Whether writing the account anew mends it. It does not where two tasks hold what one alone may hold. */
  readonly mendable: boolean;
}

/**
 * In what `account` differs from what `holdings`, the unreleased tasks of its node, hold; nothing if it does not. Both
 * must be of one moment. What the node lists itself (capacity, cores, devices) is taken as the account has it.
 */
export function driftOf(account: Account, holdings: readonly Holding[]): Drift[] {
  return [
    ...driftOfAmounts(account, holdings),
    ...driftOfClaims(account, holdings),
    ...driftOfSharers(account, holdings),
  ];
}

/** `account` with what `holdings` hold, and nothing else, taken. Where two tasks claim one thing, its holder stays. */
export function mended(account: Account, holdings: readonly Holding[]): Account {
  const claims = new Map<ClaimKey, string>();
  for (const key of account.claims.keys()) if (isListed(key)) claims.set(key, FREE);
  const empty: Account = { ...account, free: account.capacity, claims, sharers: new Map() };
  const image = exchanged(empty, { gives: [], takes: holdings });
  const mendedClaims = new Map(image.claims);
  for (const [key, claimants] of claimantsOf(holdings)) {
    mendedClaims.set(key, expectedHolder(account.claims.get(key), claimants));
  }
  return { ...image, claims: mendedClaims, version: account.version + 1 };
}

function driftOfAmounts({ capacity, free }: Account, holdings: readonly Holding[]): Drift[] {
  const used = new Map<string, number>();
  for (const { resources } of holdings) {
    for (const [name, amount] of Object.entries(resources)) used.set(name, (used.get(name) ?? 0) + amount);
  }
  const names = new Set([...Object.keys(capacity), ...Object.keys(free), ...used.keys()]);
  return checkOrder(names).flatMap((name) => {
    const [stored, expected] = [amountOf(free, name), amountOf(capacity, name) - (used.get(name) ?? 0)];
    return stored === expected
      ? []
      : [{ at: `free.${name}`, stored: String(stored), expected: String(expected), mendable: true }];
  });
}

/** The tasks that claim each thing alone: one, unless something went wrong. */
function claimantsOf(holdings: readonly Holding[]): Map<ClaimKey, [TaskId, ...TaskId[]]> {
  const claimants = new Map<ClaimKey, [TaskId, ...TaskId[]]>();
  for (const { taskId, claims } of holdings) {
    for (const { key, mode } of claims) {
      if (mode !== 'exclusive') continue;
      const alone = claimants.get(key);
      if (!alone) claimants.set(key, [taskId]);
      else if (!alone.includes(taskId)) alone.push(taskId);
    }
  }
  return claimants;
}

/** Who is to hold a thing that `stored` holds and `claimants` claim. */
function expectedHolder(stored: string | undefined, claimants: readonly [TaskId, ...TaskId[]]): TaskId {
  return claimants.find((task) => task === stored) ?? claimants[0];
}

function driftOfClaims({ claims }: Account, holdings: readonly Holding[]): Drift[] {
  const claimants = claimantsOf(holdings);
  const keys = new Set([...claims.keys(), ...claimants.keys()]);
  return [...keys].sort().flatMap((key): Drift[] => {
    const at = `claims.${key}`;
    const stored = claims.get(key);
    const alone = claimants.get(key);
    const shown = stored === undefined || stored === FREE ? 'nobody' : stored;
    if (alone === undefined) {
      return shown === 'nobody' ? [] : [{ at, stored: shown, expected: 'nobody', mendable: true }];
    }
    if (alone.length > 1) {
      return [{ at, stored: shown, expected: `one of ${alone.join(', ')}: stop the others`, mendable: false }];
    }
    return stored === alone[0] ? [] : [{ at, stored: shown, expected: alone[0], mendable: true }];
  });
}

function driftOfSharers({ sharers, claims }: Account, holdings: readonly Holding[]): Drift[] {
  const expected = new Map<ClaimKey, Set<string>>();
  for (const { taskId, claims: held } of holdings) {
    for (const { key, mode } of held) {
      if (mode !== 'exclusive') expected.set(key, (expected.get(key) ?? new Set()).add(taskId));
    }
  }
  const alone = claimantsOf(holdings);
  return [...new Set([...sharers.keys(), ...expected.keys()])].sort().flatMap((key): Drift[] => {
    const stored = listed(sharers.get(key));
    const wanted = listed(expected.get(key));
    const at = `sharers.${key}`;
    const writer = isPort(key) ? undefined : alone.get(key)?.[0];
    if (writer !== undefined && expected.has(key)) {
      const beside = `${wanted} or the single writer ${writer}: stop the others`;
      return [{ at, stored: `${stored} beside ${claims.get(key) ?? 'nobody'}`, expected: beside, mendable: false }];
    }
    return stored === wanted ? [] : [{ at, stored, expected: wanted, mendable: true }];
  });
}

function listed(tasks: Iterable<string> | undefined): string {
  return [...(tasks ?? [])].sort().join(', ') || 'nobody';
}
