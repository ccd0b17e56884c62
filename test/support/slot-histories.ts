import * as fc from 'fast-check';
import type { ServiceId, TaskId } from '../../lib/ids.ts';
import { TASK_STATES } from '../../lib/tasks/states.ts';
import { placeOfSlot, type SlotKey } from '../../lib/tasks/task.ts';
import type { EpochMs } from '../../lib/time.ts';
import { hasEnded, isLaterDesired, isLaterState, isOwned, limitOf } from './slot-model.ts';
import type { SlotWorld, WorldService, WorldTask } from './slot-world.ts';

/** Slots of a replicated service, a global one, a job, a service that nobody has told of, and of none. */
const SLOTS = ['web#1', 'web#2', 'web#10', 'glob@n1', 'glob@n2', 'job#0', 'lone#1', '@n1'] as SlotKey[];

/** The slots of services that are no jobs: these stand first. */
const WITHOUT_JOBS = 5;

const SERVICES = ['web', 'glob', 'job'] as ServiceId[];

export type Op =
  | { readonly op: 'place'; readonly slot: number; readonly state: 'new' | 'pending' | 'assigned' }
  /** A tool brings a task in that has ended elsewhere. */
  | { readonly op: 'import'; readonly slot: number; readonly timed: boolean; readonly desired: 'running' | 'shutdown' }
  | { readonly op: 'report'; readonly slot: number; readonly nth: number; readonly state: WorldTask['state'] }
  | { readonly op: 'want'; readonly slot: number; readonly nth: number; readonly desired: WorldTask['desiredState'] }
  /** It ends, and its owner deals with that at once. */
  | { readonly op: 'end'; readonly slot: number; readonly nth: number; readonly state: WorldTask['state'] }
  /** A plan that stops it begins, or is through, or is taken back. */
  | { readonly op: 'plan'; readonly slot: number; readonly nth: number; readonly takenBack: boolean }
  | { readonly op: 'limit'; readonly service: number; readonly limit: number | undefined }
  | { readonly op: 'again' }
  | { readonly op: 'remove-service'; readonly service: number }
  | { readonly op: 'scale-away'; readonly slot: number };

/** What may befall a request. `changed`: told to have met a change that there was not, as a conflict of transactions is. */
export type SlotFault = 'none' | 'lost-before' | 'lost-after' | 'changed' | 'kill-before' | 'kill-after';

export interface SlotHistory {
  readonly limits: readonly (number | undefined)[];
  readonly attempts: number;
  readonly ops: readonly Op[];
  readonly faults: readonly SlotFault[];
  /** How records are batched and pages repeated. */
  readonly seed: number;
}

const slot = fc.nat(SLOTS.length - 1);
const nth = fc.nat(6);
const limit = fc.constantFrom(undefined, -1, 0, 0, 1, 1, 2, 3);
const ended = fc.constantFrom(...TASK_STATES.slice(8));

const lifeOps: readonly fc.WeightedArbitrary<Op>[] = [
  {
    weight: 5,
    arbitrary: fc.record({ op: fc.constant('place'), slot, state: fc.constantFrom('new', 'pending', 'assigned') }),
  },
  { weight: 6, arbitrary: fc.record({ op: fc.constant('end'), slot, nth, state: ended }) },
];
const otherOps: readonly fc.WeightedArbitrary<Op>[] = [
  { weight: 3, arbitrary: fc.record({ op: fc.constant('report'), slot, nth, state: fc.constantFrom(...TASK_STATES) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('want'),
      ...{ slot, nth },
      desired: fc.constantFrom('running', 'shutdown', 'shutdown', 'remove'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('import'),
      slot,
      timed: fc.boolean(),
      desired: fc.constantFrom('running', 'shutdown'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('plan'), slot, nth, takenBack: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('limit'), service: fc.nat(SERVICES.length), limit }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('again') }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('scale-away'), slot }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('remove-service'), service: fc.nat(SERVICES.length - 1) }),
  },
];

const fault = fc.constantFrom<SlotFault>(
  ...Array.from({ length: 8 }, (): SlotFault => 'none'),
  ...(['lost-before', 'lost-after', 'changed', 'kill-before', 'kill-after'] as const),
);

/** Any history of slots, at the hands of agents, owners and operators. */
export const slotHistories: fc.Arbitrary<SlotHistory> = fc.record({
  limits: fc.array(limit, { minLength: 4, maxLength: 4 }),
  attempts: fc.constantFrom(0, 0, 0, 1, 2),
  // Few slots at a time, so that something comes together in them.
  ops: fc
    .tuple(
      fc.array(fc.oneof(...lifeOps, ...otherOps), { maxLength: 45, size: 'max' }),
      fc.integer({ min: 1, max: 5 }),
      slot,
    )
    .map(([ops, slots, first]) => ops.map((op) => ('slot' in op ? { ...op, slot: (op.slot % slots) + first } : op))),
  faults: fc.array(fault, { maxLength: 25, size: 'max' }),
  seed: fc.nat(),
});

/**
 * Tasks that are placed and end, each end dealt with at once; what is kept stays the same throughout. What a slot is left
 * with does not depend on when it is looked at then.
 */
export const plainHistories: fc.Arbitrary<SlotHistory> = fc.record({
  limits: fc.array(fc.constantFrom(undefined, -1, 1, 2, 3), { minLength: 4, maxLength: 4 }),
  attempts: fc.constantFrom(0, 0, 1),
  ops: fc
    .array(fc.oneof(...lifeOps), { maxLength: 60, size: 'max' })
    .map((ops) => ops.map((op) => ('slot' in op ? { ...op, slot: op.slot % WITHOUT_JOBS } : op))),
  faults: fc.array(fault, { maxLength: 25, size: 'max' }),
  seed: fc.nat(),
});

/** Puts into `world` what is there before the first task. */
export function beginIn(world: SlotWorld, { limits, attempts }: SlotHistory): void {
  world.clusterLimit = limits[0];
  const modes = ['replicated', 'global', 'replicated-job'] as const;
  SERVICES.forEach((serviceId, at) => {
    const historyLimit = limits[at + 1];
    const restartMaxAttempts = at === 0 ? attempts : 0;
    const service = { serviceId, mode: modes[at] ?? 'replicated', restartMaxAttempts, jobIteration: 0 };
    world.services.set(serviceId, { ...service, ...(historyLimit === undefined ? {} : { historyLimit }) });
  });
  world.settingsChanged(SLOTS);
}

/** Carries out what happens by everybody else than the reaper. What cannot be, as a report of an end that is past, is nothing. */
export class Others {
  readonly #world: SlotWorld;
  #tasks = 0;
  #sweeps = 0;

  constructor(world: SlotWorld) {
    this.#world = world;
  }

  perform(op: Op): void {
    const world = this.#world;
    world.now = (world.now + (op.op === 'end' ? 0 : 1)) as EpochMs;
    switch (op.op) {
      case 'place':
        this.#place(slotAt(op.slot), { state: op.state, desiredState: 'running' });
        break;
      case 'import': {
        const { now } = world;
        const state = { state: 'failed', desiredState: op.desired, released: true } as const;
        this.#place(slotAt(op.slot), {
          ...state,
          ...(op.timed ? { appliedAt: now } : { appliedAt: undefined }),
        });
        break;
      }
      case 'report':
        this.#change(op, (task) => reported(task, op.state, world.now));
        break;
      case 'want':
        this.#change(op, (task) => wanted(task, op.desired));
        break;
      case 'end':
        this.#change(op, (task) => wanted(reported(task, op.state, world.now), 'shutdown'));
        break;
      case 'plan':
        this.#change(op, (task) => planned(task, op.takenBack));
        break;
      case 'limit':
        this.#limit(op.service, op.limit);
        break;
      case 'again':
        this.#again();
        break;
      case 'remove-service': {
        const serviceId = SERVICES[op.service] as ServiceId;
        world.services.set(serviceId, 'removed');
        world.settingsChanged(SLOTS);
        this.#sweep({ reason: 'service-removed', serviceId });
        break;
      }
      case 'scale-away':
        this.#scaleAway(slotAt(op.slot));
        break;
    }
  }

  /** Brings every plan that is under way to its end: things are quiet only then. */
  finishPlans(): void {
    for (const slotKey of this.#world.slotKeys) {
      for (const task of this.#world.slot(slotKey)) {
        if (task.undo) this.#world.put({ ...planned(task, false), version: task.version + 1 });
      }
    }
  }

  #place(slotKey: SlotKey, state: Partial<WorldTask> & Pick<WorldTask, 'state'>): void {
    const { service, away } = this.#world.setting(slotKey);
    if (service === 'removed' || away) return;
    const job = typeof service !== 'string' && service.mode === 'replicated-job';
    this.#world.put({
      ...{ slotKey, taskId: `t${String(++this.#tasks).padStart(2, '0')}` as TaskId, version: 1, released: false },
      ...{ desiredState: 'running', appliedAt: this.#world.now },
      ...state,
      ...(job ? { jobIteration: service.jobIteration } : {}),
      ...(job && state.desiredState === 'running' && !TASK_STATES.slice(8).includes(state.state)
        ? { desiredState: 'complete' }
        : {}),
    });
  }

  #change({ op, slot, nth }: Op & { slot: number; nth: number }, change: (task: WorldTask) => WorldTask): void {
    const all = this.#world.slot(slotAt(slot));
    // What ends was there, whatever the reapers have deleted: the same in every run.
    const tasks = op === 'end' ? all.filter((task) => !hasEnded(task)) : all;
    const task = tasks[nth % Math.max(1, tasks.length)];
    if (!task) return;
    const after = change(task);
    if (after !== task) this.#world.put({ ...after, version: task.version + 1 });
  }

  #limit(service: number, limit: number | undefined): void {
    const world = this.#world;
    const serviceId = SERVICES[service];
    const known = serviceId && world.services.get(serviceId);
    if (known === 'removed') return;
    const before = SLOTS.map((slotKey) => limitOf(world.setting(slotKey)));
    if (known === undefined) world.clusterLimit = limit;
    else if (serviceId) world.services.set(serviceId, without(known, limit));
    world.settingsChanged(SLOTS);
    const lower = SLOTS.some((slotKey, at) => limitOf(world.setting(slotKey)) < (before[at] ?? 0));
    if (lower) this.#sweep({ reason: 'limit', ...(known === undefined || !serviceId ? {} : { serviceId }) });
  }

  /** The job is run again. */
  #again(): void {
    const serviceId = 'job' as ServiceId;
    const job = this.#world.services.get(serviceId);
    if (job === undefined || job === 'removed') return;
    this.#world.services.set(serviceId, { ...job, jobIteration: job.jobIteration + 1 });
    this.#world.settingsChanged(SLOTS);
    this.#sweep({ reason: 'limit', serviceId });
  }

  #scaleAway(slotKey: SlotKey): void {
    const place = placeOfSlot(slotKey);
    if (place?.slot === undefined) return;
    this.#world.away.add(slotKey);
    this.#world.settingsChanged(SLOTS);
    this.#sweep({ reason: 'scaled-away', serviceId: place.serviceId, slots: [[place.slot, place.slot]] });
  }

  #sweep(what: Pick<SlotWorld['pages'][number], 'reason' | 'serviceId' | 'slots'>): void {
    const sweepId = `sweep-${++this.#sweeps}`;
    this.#world.pages.push({ apiVersion: 'berth/v1', kind: 'SweepPage', sweepId, page: 0, ...what });
  }
}

const slotAt = (at: number) => SLOTS[at % SLOTS.length] as SlotKey;

function without({ historyLimit: _before, ...service }: WorldService, limit: number | undefined): WorldService {
  return { ...service, ...(limit === undefined ? {} : { historyLimit: limit }) };
}

function reported(task: WorldTask, state: WorldTask['state'], now: EpochMs): WorldTask {
  const after = { ...task, state };
  if (hasEnded(task) || !isLaterState(state, task.state)) return task;
  return { ...after, appliedAt: now, released: task.released || hasEnded(after) };
}

function wanted(task: WorldTask, desiredState: WorldTask['desiredState']): WorldTask {
  return isLaterDesired(desiredState, task.desiredState) && !task.undo ? { ...task, desiredState } : task;
}

function planned(task: WorldTask, takenBack: boolean): WorldTask {
  if (!task.undo)
    return task.desiredState === 'remove' ? task : { ...wanted(task, 'shutdown'), undo: task.desiredState };
  const { undo, ...rest } = task;
  return takenBack && !isOwned(task) ? { ...rest, desiredState: undo as WorldTask['desiredState'] } : rest;
}
