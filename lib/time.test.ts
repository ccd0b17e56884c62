import { describe, expect, it } from 'vitest';
import { type EpochMs, expiryAfter, isoTime, systemClock } from './time.ts';

describe('expiryAfter', () => {
  it('is in seconds, since DynamoDB takes milliseconds for a time that never comes', () => {
    expect(expiryAfter(1_700_000_000_999 as EpochMs, 60)).toBe(1_700_000_060);
  });
});

describe('isoTime', () => {
  it('is RFC 3339 in UTC with milliseconds', () => {
    expect(isoTime(1_772_366_400_007 as EpochMs)).toBe('2026-03-01T12:00:00.007Z');
  });
});

describe('systemClock', () => {
  it('tells the time of this machine', () => {
    const before = Date.now();
    const told = systemClock();
    expect(told).toBeGreaterThanOrEqual(before);
    expect(told).toBeLessThanOrEqual(Date.now());
  });
});
