import * as fc from 'fast-check';
import type { NodeSpec } from '../../lib/nodes/node.ts';
import type { PlanInput } from '../../lib/plans/plan.ts';
import type { Fault } from './faults.ts';
import type { ModelSettings } from './model.ts';
import { nodeOf } from './plans.ts';

/** What may befall a pool: its nodes, the plans of its queue in order, and how they are delivered. */
export interface History {
  readonly pool: string;
  readonly settings: ModelSettings;
  /** Actions of one transaction: where it is small, plans are committed in steps. */
  readonly allowance: number;
  readonly nodes: readonly NodeSpec[];
  readonly batches: readonly Batch[];
  /** One a request, in whatever order the requests come; none when they are used up. */
  readonly faults: readonly (Fault | undefined)[];
}

export interface Batch {
  readonly plans: readonly PlanInput[];
  /**
   * One a process that gets the batch at the same time: how many of its plans come at once. A queue that delivers again
   * need not deliver the same batches.
   */
  readonly appliers: readonly number[];
  /** The batch before is delivered once more, beside this one. */
  readonly again: boolean;
  readonly others: readonly Aside[];
}

/** What somebody else does, after so many turns of the scheduler. */
export interface Aside {
  readonly after: number;
  readonly other: Other;
}

/** What somebody else does while a batch is applied. */
export type Other =
  /** The settings of the pool are written anew, unchanged: its index moves. */
  | { readonly kind: 'settings' }
  | { readonly kind: 'end'; readonly task: TaskName }
  | { readonly kind: 'register'; readonly node: NodeSpec };

export interface TaskName {
  readonly taskId: string;
  readonly serviceId: string;
  readonly slot?: number;
}

const TASKS = 12;
/** Every third task is one of a global service, whose slots have no number. */
const taskName = (at: number): TaskName =>
  at % 3 === 0 ? { taskId: `t${at}`, serviceId: `g${at}` } : { taskId: `t${at}`, serviceId: `s${at % 2}`, slot: at };

const rarely = <T>(value: fc.Arbitrary<T>, otherwise: T, weight = 3) =>
  fc.oneof({ weight, arbitrary: fc.constant(otherwise) }, { weight: 1, arbitrary: value });

const amounts = (most: number) => fc.integer({ min: 0, max: most });

function nodeSpecs(pool: string, nodeId: string, roomy: boolean): fc.Arbitrary<NodeSpec> {
  return fc
    .record({
      cpu: roomy ? fc.integer({ min: 4, max: 16 }) : fc.integer({ min: 1, max: 8 }),
      memory: roomy ? fc.integer({ min: 4, max: 16 }) : amounts(6),
      gpu: fc.option(amounts(3), { nil: undefined }),
      cores: fc.subarray([0, 1, 2]),
      healthy: fc.boolean(),
      reservedPorts: rarely(fc.constantFrom('22', '80', '22,1000-1100'), ''),
      ownReserved: rarely(fc.constant('81'), ''),
      maxTasks: roomy ? fc.constant(undefined) : fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      status: rarely(fc.constantFrom('initializing', 'disconnected', 'down'), 'ready', 12),
      eligibility: rarely(fc.constant('ineligible'), 'eligible', 10),
      drain: rarely(fc.constant(true), false, 12),
    })
    .map(({ cpu, memory, gpu, healthy, ownReserved, maxTasks, ...same }) =>
      nodeOf({
        ...(same as Pick<NodeSpec, 'status' | 'eligibility'> & typeof same),
        ...{ nodeId, pool, capacity: { cpu, memory, ...(gpu === undefined ? {} : { gpu }) } },
        devices: [{ id: 'd0' }, { id: 'd1', healthy }],
        addresses: [{ ip: 'a', reservedPorts: ownReserved }, { ip: 'b' }],
        ...(maxTasks === undefined ? {} : { maxTasks }),
      }),
    );
}

const ports = fc.uniqueArray(
  fc.record({
    ip: fc.constantFrom('a', 'b'),
    value: fc.constantFrom(22, 80, 81),
    ignoreCollision: rarely(fc.constant(true), false, 2),
  }),
  { maxLength: 2 },
);
const volumes = fc.array(
  fc.record({
    source: fc.constantFrom('data', 'logs'),
    mode: fc.constantFrom('single-writer' as const, 'multi-writer' as const, 'reader-only' as const),
  }),
  { maxLength: 2 },
);
const wantsOf = (modest: boolean) => {
  const few = modest ? 12 : 3;
  return fc.record({
    resources: fc.record(
      { cpu: amounts(modest ? 2 : 4), memory: amounts(2), ...(modest ? {} : { gpu: amounts(2) }) },
      { requiredKeys: ['cpu'] },
    ) as fc.Arbitrary<Record<string, number>>,
    ports: rarely(ports, [], few),
    cores: rarely(fc.array(fc.constantFrom(0, 1, 2, 3), { maxLength: 2 }), [], few),
    devices: rarely(fc.array(fc.constantFrom('d0', 'd1', 'd9'), { maxLength: 2 }), [], few),
    volumes: rarely(volumes, [], few),
  });
};

interface Order {
  readonly kind: 'place' | 'stop' | 'preempt';
  readonly task: number;
  /** Where, counted from the node that the task is at home on. */
  readonly offset: number;
  readonly remove: boolean;
  readonly wants: Pick<
    NonNullable<PlanInput['placements']>[number],
    'resources' | 'ports' | 'cores' | 'devices' | 'volumes'
  >;
}

const ordersOf = (maxLength: number, modest: boolean): fc.Arbitrary<Order[]> =>
  fc.uniqueArray(
    fc.record({
      kind: fc.constantFrom('place', 'place', 'place', 'stop', 'preempt'),
      task: fc.nat({ max: TASKS - 1 }),
      offset: rarely(fc.nat({ max: 4 }), 0, modest ? 24 : 6),
      remove: fc.boolean(),
      wants: wantsOf(modest),
    }),
    { minLength: 1, maxLength, selector: ({ task }) => task },
  );

function planOf(
  pool: string,
  nodes: readonly NodeSpec[],
  list: readonly Order[],
  allAtOnce: boolean,
): Omit<PlanInput, 'planId'> {
  const placeOf = ({ task, offset }: Order) => ({
    ...taskName(task),
    // The fifth offset is a node that nobody has registered.
    nodeId: offset === 4 ? 'nowhere' : (nodes[(task + offset) % nodes.length]?.nodeId ?? 'nowhere'),
  });
  const of = (kind: Order['kind']) => list.filter((order) => order.kind === kind);
  return {
    pool,
    allAtOnce,
    placements: of('place').map((order) => ({ ...placeOf(order), ...order.wants })),
    stops: of('stop').map((order) => ({
      ...placeOf(order),
      ...(order.remove ? { desiredState: 'remove' as const } : {}),
    })),
    preemptions: of('preempt').map((order) => ({ ...placeOf(order), preemptedBy: 'p0' })),
  };
}

const aside = (other: fc.Arbitrary<Other>): fc.Arbitrary<Aside> => fc.record({ after: fc.nat({ max: 40 }), other });

const settingsOf: fc.Arbitrary<ModelSettings> = fc.record({
  stopRelease: rarely(fc.constant<'plan' | 'terminal'>('terminal'), 'plan'),
  threshold: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  marks: fc.integer({ min: 1, max: 3 }),
});

const faults: fc.Arbitrary<Fault | undefined> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<Fault>(
      ...(['conflict', 'throttled', 'partly-throttled', 'nothing-processed', 'server-error', 'denied'] as const),
      ...(['lost-before', 'lost-after', 'lost-after', 'kill-before', 'kill-after', 'kill-after'] as const),
    ),
  },
);

export interface HistoryOptions {
  /**
   * Agents report ends and nodes are registered again while plans are applied, so that what a plan comes to depends on
   * what came first. Default: there is one right outcome.
   */
  readonly open?: boolean;
  /** Transactions are small, so that most plans are committed in steps, many of them all at once. Default: some. */
  readonly staged?: boolean;
}

/** Histories of one pool. */
export function histories(pool: string, { open = false, staged = false }: HistoryOptions = {}): fc.Arbitrary<History> {
  return fc.integer({ min: 2, max: 4 }).chain((count) =>
    fc.tuple(...Array.from({ length: count }, (_, at) => nodeSpecs(pool, `n${at}`, staged))).chain((nodes) => {
      const plans = fc.record({
        orders: ordersOf(staged ? 8 : 4, staged),
        allAtOnce: staged ? fc.boolean() : rarely(fc.constant(true), false),
      });
      const settings: fc.Arbitrary<Other> = fc.constant({ kind: 'settings' });
      const ends: fc.Arbitrary<Other> = fc
        .nat({ max: TASKS - 1 })
        .map((task): Other => ({ kind: 'end', task: taskName(task) }));
      const registers: fc.Arbitrary<Other> = fc
        .nat({ max: count - 1 })
        .chain((at) => nodeSpecs(pool, `n${at}`, staged))
        .map((node): Other => ({ kind: 'register', node }));
      const batch = fc.record({
        plans: fc.array(plans, { minLength: 1, maxLength: 5 }),
        appliers: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 2 }),
        again: rarely(fc.constant(true), false),
        others: open
          ? fc.array(aside(fc.oneof(settings, ends, ends, registers)), { maxLength: staged ? 8 : 3 })
          : fc.array(aside(settings), { maxLength: 1 }),
      });
      return fc
        .record({
          settings: settingsOf,
          allowance: staged ? fc.constantFrom(8, 12) : fc.constantFrom(100, 100, 8, 12),
          batches: fc.array(batch, { minLength: 1, maxLength: 5 }),
          faults: fc.array(faults, { maxLength: 16 }),
        })
        .map(({ batches, ...rest }) => {
          let number = 0;
          const named = batches.map((each) => ({
            ...each,
            plans: each.plans.map((plan) => ({
              ...planOf(pool, nodes, plan.orders, plan.allAtOnce),
              planId: `plan-${++number}`,
            })),
          }));
          return { pool, nodes, batches: named, ...rest };
        });
    }),
  );
}
