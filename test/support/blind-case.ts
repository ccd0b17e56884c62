import type { TaskId } from '../../lib/ids.ts';
import type { Account } from '../../lib/nodes/account.ts';
import type { BlindChange, BlindClaim } from '../../lib/nodes/blind.ts';
import type { ClaimKey } from '../../lib/nodes/claims.ts';
import type { NodeSpecInput } from '../../lib/nodes/node.ts';

/** A change on conditions as plain data. */
export interface PlainChange {
  readonly demand?: BlindChange['demand'];
  readonly net?: Readonly<Record<string, number>>;
  readonly need?: Readonly<Record<string, number>>;
  readonly named?: BlindChange['named'];
  readonly claims?: Readonly<Record<string, BlindClaim>>;
  readonly joins?: Readonly<Record<string, readonly string[]>>;
  readonly leaves?: Readonly<Record<string, readonly string[]>>;
}

export interface BlindCase {
  readonly name: string;
  /** The node, where it differs from a ready one with 4 of `cpu` and 8 of `memory`. */
  readonly node?: Partial<NodeSpecInput>;
  readonly holds?: (account: Account) => Account;
  readonly change: PlainChange;
  /** What is different afterwards, null for what must be gone. */
  readonly after: 'refused' | PlainAccount;
}

interface PlainAccount {
  readonly free?: Readonly<Record<string, number | null>>;
  readonly claims?: Readonly<Record<string, string | null>>;
  readonly sharers?: Readonly<Record<string, readonly string[] | null>>;
}

/** The change itself, as a store is given it. */
export function change({ demand = 'there', net, need, named, claims, joins, leaves }: PlainChange): BlindChange {
  const sets = (tasks: Readonly<Record<string, readonly string[]>> = {}) =>
    new Map(Object.entries(tasks).map(([key, list]) => [key as ClaimKey, new Set(list as TaskId[])]));
  return {
    demand,
    net: new Map(Object.entries(net ?? {})),
    need: new Map(Object.entries(need ?? {})),
    named: named ?? { net: 0 },
    claims: new Map(Object.entries(claims ?? {}) as [ClaimKey, BlindClaim][]),
    joins: sets(joins),
    leaves: sets(leaves),
  };
}

/** The task whose change it is, and another. */
export const A = 'a' as TaskId;
export const B = 'b' as TaskId;
export const take: BlindClaim = { op: 'take', task: A };
export const release: BlindClaim = { op: 'release', task: A };
export const pass: BlindClaim = { op: 'pass', from: B, task: A };

export const PORT = 'port/10.0.0.5/80';

/** An account in which these claims are held beside its own, and just these tasks share what they share. */
export const holding =
  (claims: Readonly<Record<string, string>>, sharers: Readonly<Record<string, readonly string[]>> = {}) =>
  (account: Account): Account => ({
    ...account,
    claims: new Map([...account.claims, ...(Object.entries(claims) as [ClaimKey, string][])]),
    sharers: new Map(Object.entries(sharers).map(([key, tasks]) => [key as ClaimKey, new Set(tasks as TaskId[])])),
  });

/** An account in which `key`, too, is withdrawn. */
export function withdrawing(key: string) {
  return (account: Account): Account => ({ ...account, withdrawn: new Set([...account.withdrawn, key as ClaimKey]) });
}
