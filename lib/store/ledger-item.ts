import * as z from 'zod/mini';
import { gunzip, gzip } from '../gzip.ts';
import { CallError } from '../scaler/call-error.ts';
import type { Ledger } from '../scaler/observation.ts';
import { SCALER } from '../settings.ts';
import type { Item } from './dynamo.ts';
import { storedMs } from './stored.ts';

const ledgerSchema = z.object({
  version: z.int(),
  pendingDeletions: z.array(
    z.object({ node: z.string(), uid: z.string(), instance: z.optional(z.string()), since: storedMs }),
  ),
  pendingIncrease: z.optional(
    z.object({
      count: z.int(),
      since: storedMs,
      // Uids of all nodes of the pool: of a thousand nodes 37 KB as they are, and half of that compressed.
      baseline: z.pipe(
        z.custom<Uint8Array>((value) => value instanceof Uint8Array),
        z.pipe(
          z.transform((bytes: Uint8Array) => JSON.parse(gunzip(bytes, SCALER.baselineBytes)) as unknown),
          z.array(z.string()),
        ),
      ),
    }),
  ),
  // Only to be told of: whatever has become of it, all else must be read. A number that is not ours is as damaged.
  unjoined: z.catch(
    z.optional(
      z
        .array(z.object({ instance: z.string().check(z.maxLength(64)), since: storedMs }))
        .check(z.maxLength(SCALER.unjoinedRemembered)),
    ),
    undefined,
  ),
  detectedProvider: z.optional(z.enum(['eks', 'asg', 'minikube'])),
  registration: z.optional(
    z.object({
      pool: z.string(),
      digest: z.optional(z.string()),
      grouped: z.optional(z.boolean()),
      ended: z.optional(z.array(z.string())),
    }),
  ),
});

/** What is remembered of nothing yet. */
export const NO_LEDGER: Ledger = { version: 0, pendingDeletions: [] };

/** A ledger as a map of the item of its cluster. */
export function ledgerItem({ pendingIncrease, ...rest }: Ledger): Item {
  if (pendingIncrease === undefined) return { ...rest };
  return { ...rest, pendingIncrease: { ...pendingIncrease, baseline: gzip(JSON.stringify(pendingIncrease.baseline)) } };
}

/** The ledger that `stored` is; undefined: none that can be read. */
export function ledgerFromItem(stored: unknown): Ledger | undefined {
  try {
    const outcome = ledgerSchema.safeParse(stored);
    return outcome.success ? (outcome.data as Ledger) : undefined;
  } catch {
    // What was compressed is no JSON any more.
    return undefined;
  }
}

/** Bytes that a ledger takes of the item of its cluster, at most: JSON needs more for everything but bytes. */
export function ledgerBytes(object: string, stored: Item): number {
  let binary = 0;
  const text = JSON.stringify(stored, (_, value: unknown) => {
    if (!(value instanceof Uint8Array) && !isBuffer(value)) return value;
    binary += value instanceof Uint8Array ? value.length : value.data.length;
    return '';
  });
  return Buffer.byteLength(object) + Buffer.byteLength(text) + binary;
}

/** What a Buffer has become by the time that `JSON.stringify` shows it. */
function isBuffer(value: unknown): value is { readonly data: readonly number[] } {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value;
}

/** Throws a CallError where the ledgers of a cluster would not fit its item. `others`: bytes of those of all other objects. */
export function mustFit(object: string, stored: Item, others: number): void {
  const own = ledgerBytes(object, stored);
  if (own + others <= SCALER.ledgerBytes) return;
  throw new CallError(
    'refused',
    'LedgerTooLarge',
    `what is to be remembered of ${object} takes ${own} bytes, and that of the other objects of the cluster ${others}; there is room for ${SCALER.ledgerBytes}. An order remembers the uid of every node of its pool: split the pool, or delete objects that are not needed`,
  );
}
