import { createHash } from 'node:crypto';

/** SHA-256 of `text`. */
export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** `value` as JSON with the names of every object in order, so that equal values are equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
