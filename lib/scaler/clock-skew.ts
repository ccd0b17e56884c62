import { SCALER } from '../settings.ts';
import type { EpochMs } from '../time.ts';

/**
 * Whether a time that was written down is ahead of `now` by more than clocks differ: it is of a clock that was wrong, and
 * whoever waited for it would wait that much longer.
 */
export function isAhead(at: EpochMs, now: EpochMs): boolean {
  return at > now + SCALER.tickSeconds * 1000;
}
