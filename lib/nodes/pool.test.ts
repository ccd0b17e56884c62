import { describe, expect, it } from 'vitest';
import { problemsOf } from '../schema.ts';
import { poolSpecSchema } from './pool.ts';

function problems(settings: unknown): string[] {
  const input = { pool: 'prod', settings };
  const outcome = poolSpecSchema.safeParse(input);
  return outcome.success ? [] : problemsOf(outcome.error, input).map(({ path, message }) => `${path}: ${message}`);
}

describe('a pool', () => {
  it('has the defaults of the specification', () => {
    expect(poolSpecSchema.parse({ pool: 'prod' })).toEqual({
      pool: 'prod',
      shards: 8,
      settings: {
        stopRelease: 'plan',
        tracker: { enabled: true, threshold: 100, windowSeconds: 300, markRatePerSecond: 5 / 1800, markBurst: 10 },
      },
    });
  });

  it('may set one thing and leave the rest', () => {
    const { settings } = poolSpecSchema.parse({ pool: 'prod', settings: { tracker: { threshold: 3 } } });
    expect(settings.tracker).toMatchObject({ threshold: 3, windowSeconds: 300, enabled: true });
  });

  it('does not share its defaults with other pools', () => {
    const [one, other] = [poolSpecSchema.parse({ pool: 'a' }), poolSpecSchema.parse({ pool: 'b' })];
    Object.assign(one.settings.tracker, { threshold: 1 });
    Object.assign(one.settings, { stopRelease: 'terminal' });
    expect(other.settings).toMatchObject({ stopRelease: 'plan', tracker: { threshold: 100 } });
    expect(poolSpecSchema.parse({ pool: 'c' }).settings).toMatchObject({
      stopRelease: 'plan',
      tracker: { threshold: 100 },
    });
  });

  // Nonsense is refused where it is set: Nomad takes a threshold of zero, and every refusal then marks a node.
  it.each([
    [{ tracker: { threshold: 0 } }, 'settings.tracker.threshold: expected a whole number from 1 to 10000, got 0'],
    [{ tracker: { threshold: -3 } }, 'settings.tracker.threshold: expected a whole number from 1 to 10000, got -3'],
    [
      { tracker: { windowSeconds: 0 } },
      'settings.tracker.windowSeconds: expected a whole number from 1 to 86400, got 0',
    ],
    [
      { tracker: { markRatePerSecond: 0 } },
      'settings.tracker.markRatePerSecond: expected a number above 0, at most 1000, got 0',
    ],
    [{ tracker: { markBurst: 0.5 } }, 'settings.tracker.markBurst: expected a whole number from 1 to 10000, got 0.5'],
    [{ tracker: { enabled: 1 } }, 'settings.tracker.enabled: expected true or false, got 1'],
    [{ ineligibleForSeconds: 0 }, 'settings.ineligibleForSeconds: expected a whole number from 1 to 31536000, got 0'],
    [{ stopRelease: 'never' }, 'settings.stopRelease: expected one of plan, terminal, got "never"'],
    [{ treshold: 1 }, 'settings.treshold: unknown field: take it out, or check its spelling'],
  ])('refuses the settings %j', (settings, problem) => {
    expect(problems(settings)).toEqual([problem]);
  });

  it.each([0, 65, 1.5])('of %d shards is refused', (shards) => {
    expect(poolSpecSchema.safeParse({ pool: 'prod', shards }).success).toBe(false);
  });
});
