/** Milliseconds since 1970-01-01T00:00:00Z. What code computes with. */
export type EpochMs = number & { readonly __unit: 'epoch-ms' };

/** Seconds since 1970-01-01T00:00:00Z. What DynamoDB's TTL wants; a value in milliseconds would mean the year 52,000, that is never. */
export type EpochSeconds = number & { readonly __unit: 'epoch-s' };

/** Where the time comes from. Injected everywhere, so that a test can move it. */
export type Clock = () => EpochMs;

export const systemClock: Clock = () => Date.now() as EpochMs;

/** The second in which `at` lies, plus `seconds`: the form in which an expiry is stored. */
export function expiryAfter(at: EpochMs, seconds: number): EpochSeconds {
  return (Math.floor(at / 1000) + seconds) as EpochSeconds;
}

/** RFC 3339 in UTC with milliseconds, the form of every time that a user sees. */
export function isoTime(at: EpochMs): string {
  return new Date(at).toISOString();
}
