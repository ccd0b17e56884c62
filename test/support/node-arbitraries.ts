import fc from 'fast-check';
import type { NodeSpec } from '../../lib/nodes/node.ts';
import type { Placement } from '../../lib/plans/plan.ts';
import { placementOf } from './builders.ts';
import { nodeOf } from './plans.ts';

/** Nodes and tasks from a world so small that they meet all the time. */

const NAMES = ['cpu', 'memory', 'disk', 'gpu', 'Zeta', 'constructor', 'toString'];

const amounts = fc.dictionary(
  fc.constantFrom('cpu', 'memory', 'disk', 'gpu', 'Zeta', 'constructor', 'toString'),
  fc.nat(4),
);

const reservations = fc.constantFrom('', '', '80', '22,80-81', '79-81,8000-8100');

export const nodeSpecs: fc.Arbitrary<NodeSpec> = fc
  .record({
    capacity: fc.dictionary(
      fc.constantFrom('cpu', 'cpu', 'memory', 'disk', 'gpu', 'Zeta', 'constructor', 'toString'),
      fc.nat(8),
      { minKeys: 2 },
    ),
    cores: fc.uniqueArray(fc.nat(4)),
    devices: fc.array(fc.record({ id: fc.constantFrom('d0', 'd1', 'd2'), healthy: fc.boolean() }), { maxLength: 3 }),
    addresses: fc.array(fc.record({ ip: fc.constantFrom('a', 'b'), reservedPorts: reservations }), { maxLength: 2 }),
    reservedPorts: reservations,
    maxTasks: fc.option(fc.nat(5), { nil: undefined }),
    status: fc.oneof(
      { weight: 9, arbitrary: fc.constant('ready' as const) },
      fc.constantFrom('down' as const, 'initializing' as const),
    ),
    eligibility: fc.oneof(
      { weight: 9, arbitrary: fc.constant('eligible' as const) },
      fc.constant('ineligible' as const),
    ),
    drain: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
  })
  .map(({ maxTasks, ...spec }) =>
    nodeOf({ nodeId: 'n1', pool: 'prod', ...spec, ...(maxTasks === undefined ? {} : { maxTasks }) }),
  );

/** Nodes with room for most of what is asked, so that what is asked is refused for claims, or not at all. */
export const roomySpecs = nodeSpecs.map((spec): NodeSpec => {
  const { maxTasks: _limit, ...rest } = spec;
  return {
    ...rest,
    ...{ status: 'ready', eligibility: 'eligible', drain: false, cores: [0, 1, 2, 3, 4, 5] },
    capacity: Object.fromEntries(NAMES.map((name) => [name, 30])),
    devices: ['d0', 'd1', 'd2', 'd3'].map((id) => ({ id, healthy: true })),
    ...{ addresses: [], reservedPorts: '' },
  };
});

/** A task whose volumes leave `left` of the bytes that a node has to write ports and volumes down. */
function crowd(left: number): Placement {
  const bytes = 96 * 1024 - left;
  const long = 1000 + (bytes % 1000);
  const names = [
    ...Array.from({ length: Math.floor((bytes - long) / 1000) }, (_, at) => [at, 1000] as const),
    [999, long] as const,
  ];
  const volumes = names.map(([at, length]) => ({
    source: `${at}`.padStart(length - 'volume/'.length - 'crowd'.length - 3, 'x'),
    mode: 'multi-writer' as const,
  }));
  return { ...placementOf('crowd'), volumes };
}

/** Mostly no crowd; else one that leaves room for some names of ports or volumes, or for none. */
export const crowds = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Placement[]>([]) },
  fc.integer({ min: 0, max: 40 }).map((left) => [crowd(left)]),
);

/** Mostly nothing, so that tasks often fit. */
function few<T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant<T[]>([]) }, fc.array(item, { maxLength: 2 }));
}

const wants = fc.record({
  resources: fc.oneof(fc.constant({}), amounts),
  ports: few(
    fc.record({
      ip: fc.constantFrom('a', 'b'),
      value: fc.constantFrom(22, 80, 443, 8080),
      ignoreCollision: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
    }),
  ),
  cores: few(fc.nat(5)),
  devices: few(fc.constantFrom('d0', 'd1', 'd2', 'd3')),
  volumes: few(
    fc.record({
      source: fc.constantFrom('data', 'logs'),
      mode: fc.constantFrom('single-writer' as const, 'multi-writer' as const, 'reader-only' as const),
    }),
  ),
});

/** What a part of a plan does to its node: gives back the tasks at these places among those that are there, and takes new ones. */
export interface Step {
  readonly gives: readonly number[];
  readonly takes: readonly Placement[];
}

/** Steps, no task twice among them. */
export function steps(maxLength: number): fc.Arbitrary<Step[]> {
  const step = fc.record({ gives: few(fc.nat(5)), takes: fc.array(wants, { maxLength: 3 }) });
  return fc.array(step, { minLength: 1, maxLength }).map((list) => {
    let number = 0;
    return list.map(({ gives, takes }) => ({
      gives,
      takes: takes.map((wanted) => placementOf(`t${++number}`, wanted)),
    }));
  });
}

/** The tasks that `step` gives back, of those `there`. */
export function givenBack<T>({ gives }: Step, there: readonly T[]): T[] {
  return [...new Set(gives)].flatMap((at) => there[at] ?? []);
}
