import { describe, expect, it } from 'vitest';
import { HISTORY } from '../settings.ts';
import { effectiveLimit, isJob, SERVICE_MODES, serviceSpecSchema } from './service.ts';

describe('effectiveLimit', () => {
  const ALL = Number.POSITIVE_INFINITY;
  it.each([
    // own limit, restart attempts, the cluster's limit, what is kept
    [undefined, 0, undefined, 5],
    [undefined, 0, 0, 0],
    [undefined, 0, 3, 3],
    [undefined, 0, -1, ALL],
    [2, 0, 9, 2],
    [0, 0, 9, 0],
    [-7, 0, 9, ALL],
    [0, 1, undefined, 2],
    [undefined, 4, undefined, 5],
    [undefined, 5, undefined, 6],
    [9, 3, 0, 9],
    [-1, 3, 0, ALL],
    [0, Number.MAX_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER + 1],
  ])('of %s, %s attempts, in a cluster of %s', (historyLimit, restartMaxAttempts, cluster, expected) => {
    const own = historyLimit === undefined ? {} : { historyLimit };
    expect(effectiveLimit({ ...own, restartMaxAttempts }, cluster)).toBe(expected);
  });

  it('is five where nobody says', () => {
    expect(HISTORY.limit).toBe(5);
  });
});

describe('a service', () => {
  const spec = { serviceId: 'web', mode: 'replicated' } as const;

  it('needs a name and a mode, and has no limit of its own', () => {
    expect(serviceSpecSchema.parse(spec)).toEqual({ ...spec, restartMaxAttempts: 0, jobIteration: 0 });
  });

  it.each(['18446744073709551615', '9223372036854775807', '1e300'])(
    'may have %s attempts: as many as there can be',
    (text) => {
      const { restartMaxAttempts } = serviceSpecSchema.parse({
        ...spec,
        restartMaxAttempts: JSON.parse(text) as number,
      });
      expect(restartMaxAttempts).toBe(Number.MAX_SAFE_INTEGER);
    },
  );

  it.each([
    { restartMaxAttempts: -1 },
    { restartMaxAttempts: 1.5 },
    { restartMaxAttempts: Number.POSITIVE_INFINITY },
    { historyLimit: 0.5 },
    { historyLimit: '5' },
    { jobIteration: -1 },
    { mode: 'daemon' },
    { serviceId: 'a#b' },
    { colour: 'red' },
  ])('has no %j', (wrong) => {
    expect(serviceSpecSchema.safeParse({ ...spec, ...wrong }).success).toBe(false);
  });

  it('is a job in two of four modes', () => {
    expect(SERVICE_MODES.filter(isJob)).toEqual(['replicated-job', 'global-job']);
  });
});
