import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkPlan } from './check-plan.ts';
import { planSchema } from './plan.ts';

/** Values that a plan may hold, values that it may not, and everything else. */
const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    'a b',
    -1,
    1.5,
    65_536,
    2 ** 53,
    [],
    {},
    true,
    't1',
    'n1',
    '\ud800',
    '__proto__',
    0,
    7,
  ),
  fc.jsonValue(),
);
const ids = fc.constantFrom('t1', 't2', 't3', 'constructor');
const maybe = <T>(good: fc.Arbitrary<T>) => fc.oneof({ weight: 12, arbitrary: good as fc.Arbitrary<unknown> }, odd);
const place = { taskId: maybe(ids), serviceId: maybe(fc.constant('web')), nodeId: maybe(fc.constant('n1')) };
const ports = fc.array(
  maybe(
    fc.record(
      { ip: maybe(fc.constant('a')), value: maybe(fc.nat(65_535)), ignoreCollision: maybe(fc.boolean()) },
      { requiredKeys: ['ip', 'value'] },
    ),
  ),
  { maxLength: 2 },
);
const placement = fc.record(
  {
    ...place,
    slot: maybe(fc.nat()),
    resources: maybe(
      fc.dictionary(fc.constantFrom('cpu', 'gpu-milli/0', 'max-tasks', '#'), maybe(fc.nat()), { maxKeys: 1 }),
    ),
    ports: maybe(ports),
    cores: maybe(fc.array(maybe(fc.nat(3)), { maxLength: 2 })),
    volumes: maybe(
      fc.array(fc.record({ source: maybe(fc.constant('v')), mode: maybe(fc.constant('reader-only')) }), {
        maxLength: 1,
      }),
    ),
    jobIteration: maybe(fc.nat()),
  },
  { requiredKeys: ['taskId', 'serviceId', 'nodeId'] },
);
const stop = fc.record(
  { ...place, desiredState: maybe(fc.constantFrom('shutdown', 'remove')) },
  { requiredKeys: ['taskId', 'serviceId', 'nodeId'] },
);
const entries = <T>(entry: fc.Arbitrary<T>) =>
  maybe(fc.array(fc.oneof({ weight: 20, arbitrary: entry as fc.Arbitrary<unknown> }, odd), { maxLength: 3 }));
const plans = fc.record(
  {
    planId: maybe(fc.constant('p1')),
    pool: maybe(fc.constant('prod')),
    priority: maybe(fc.nat(32_767)),
    allAtOnce: maybe(fc.boolean()),
    notAfter: maybe(fc.constant('2027-01-01T00:00:00Z')),
    placements: entries(placement),
    stops: entries(stop),
    preemptions: entries(fc.record(place)),
    extra: odd,
  },
  { requiredKeys: ['planId', 'pool'] },
);

describe('checkPlan', () => {
  it('takes what the published schema takes, as that has it, less tasks that stand in it twice', () => {
    const seen = { taken: 0, repeated: 0, refused: 0 };
    fc.assert(
      fc.property(
        fc.oneof(
          { weight: 9, arbitrary: plans.map(({ extra, ...plan }) => (extra === 7 ? { ...plan, extra } : plan)) },
          odd,
        ),
        (input) => {
          const checked = checkPlan(input);
          const schema = planSchema.safeParse(input);
          if ('plan' in checked) {
            seen.taken++;
            expect(schema.data).toEqual(checked.plan);
          } else if (schema.success) {
            seen.repeated++;
            for (const { message } of checked.problems)
              expect(message).toMatch(/^task \S+ stands in the plan already, at /);
          } else {
            seen.refused++;
            expect(checked.problems.length).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 1000 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(5);
  });
});
