import type { NodeId, PlanId, PoolName, TaskId } from '../ids.ts';
import { type Account, type Exchange, type Holding, isSchedulable } from '../nodes/account.ts';
import type { Demand } from '../nodes/blind.ts';
import { misfitOf } from '../nodes/fit.ts';
import type { StopRelease } from '../nodes/pool.ts';
import { holdingOf } from '../tasks/holding.ts';
import { isTerminal, laterDesired } from '../tasks/states.ts';
import { isLive, type SlotKey, slotKeyOf, type Task } from '../tasks/task.ts';
import type { EpochMs } from '../time.ts';
import { differenceOf } from './in-place.ts';
import type { Placement, Plan, Preemption, Stop } from './plan.ts';

/** What a plan wants of one node: the unit of decision. All of it is committed, or nothing. */
export interface NodePart {
  readonly nodeId: NodeId;
  readonly placements: readonly Placement[];
  readonly stops: readonly Stop[];
  readonly preemptions: readonly Preemption[];
}

const partsCache = new WeakMap<Plan, readonly NodePart[]>();

/** The parts of a plan, in the order of their node ids, so that the same plan is decided the same way everywhere. */
export function partsOf(plan: Plan): readonly NodePart[] {
  // A plan of several transactions is decided on hundreds of times.
  const known = partsCache.get(plan);
  if (known) return known;
  const parts = new Map<NodeId, { placements: Placement[]; stops: Stop[]; preemptions: Preemption[] }>();
  const partOf = (node: NodeId) => {
    const part = parts.get(node) ?? { placements: [], stops: [], preemptions: [] };
    parts.set(node, part);
    return part;
  };
  for (const placement of plan.placements) partOf(placement.nodeId).placements.push(placement);
  for (const stop of plan.stops) partOf(stop.nodeId).stops.push(stop);
  for (const preemption of plan.preemptions) partOf(preemption.nodeId).preemptions.push(preemption);
  const sorted = [...parts]
    .map(([nodeId, part]) => ({ nodeId, ...part }))
    .sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
  partsCache.set(plan, sorted);
  return sorted;
}

/** Names one task among all: its slot and its id. */
export type TaskKey = string & { readonly __key: 'task' };

export function taskKeyOf(ref: { taskId: TaskId } & Parameters<typeof slotKeyOf>[0]): TaskKey {
  return taskKey(slotKeyOf(ref), ref.taskId);
}

export function taskKey(slot: SlotKey, task: TaskId): TaskKey {
  return `${slot} ${task}` as TaskKey;
}

/** The slot and the id that a key is made of. */
export function taskOfKey(key: TaskKey): { readonly slotKey: SlotKey; readonly taskId: TaskId } {
  const [slotKey, taskId] = key.split(' ') as [SlotKey, TaskId];
  return { slotKey, taskId };
}

/** What is known of a task: as it is, or that it is not there. Undefined where it was not looked at. */
export type TaskFact = Task | 'missing' | undefined;
/** What is known of a node's account. */
export type AccountFact = Account | 'missing' | undefined;

/** What deciding about a part of a plan goes by, besides the node. */
export interface PartContext {
  readonly plan: Pick<Plan, 'planId' | 'evalId' | 'priority'>;
  readonly pool: PoolName;
  readonly stopRelease: StopRelease;
  readonly now: EpochMs;
  readonly task: (key: TaskKey) => TaskFact;
}

/** What accepting a part does. */
export interface PartEffect {
  readonly exchange: Exchange;
  readonly demand: Demand;
  readonly tasks: readonly Task[];
  readonly placed: readonly TaskId[];
  readonly stopped: readonly TaskId[];
  readonly preempted: readonly TaskId[];
  readonly alreadyGone: readonly TaskId[];
  /** What nobody has looked at and was taken to be as the part needs it: for the conditions of the commit to prove. */
  readonly presumed: Reading;
}

/** What is to be read of one part. */
export interface Reading {
  readonly tasks: readonly TaskKey[];
  readonly account: boolean;
}

const NOTHING: Reading = { tasks: [], account: false };

export type PartOutcome =
  | { readonly kind: 'accepted'; readonly effect: PartEffect }
  | {
      readonly kind: 'rejected';
      readonly code: string;
      readonly message: string /** Whether it says something of a node that was thought good. */;
      readonly counts: boolean;
    }
  /** Nothing can be said before these are read. */
  | ({ readonly kind: 'needs' } & Reading);

/**
 * Decides about one node of a plan (spec plan-applier.md, "Deciding about one node of a plan"). With an account that was
 * not read the answer is «accepted», for conditions to prove, or what must be read first: never a refusal, since
 * the code of a refusal is that of the first rule that fails.
 */
export function decidePart(part: NodePart, account: AccountFact, context: PartContext): PartOutcome {
  const unread = [...part.stops, ...part.preemptions].map(taskKeyOf).filter((key) => context.task(key) === undefined);
  if (unread.length > 0) return { kind: 'needs', tasks: unread, account: false };

  const endings = endingsOf(part, context);
  if (part.placements.length === 0) {
    return { kind: 'accepted', effect: { ...endings, demand: 'there', placed: [], presumed: NOTHING } };
  }
  const placements = placementsOf(part, context);
  const exchange: Exchange = { gives: [...endings.exchange.gives, ...placements.gives], takes: placements.takes };
  const demand: Demand = placements.allInPlace ? 'ready' : 'schedulable';
  const effect: PartEffect = {
    ...endings,
    exchange,
    demand,
    tasks: [...endings.tasks, ...placements.tasks],
    placed: part.placements.map(({ taskId }) => taskId),
    presumed: { tasks: placements.unread, account: account === undefined },
  };
  if (account === undefined) {
    return placements.conflict ? { kind: 'needs', tasks: [], account: true } : { kind: 'accepted', effect };
  }
  if (account === 'missing') return { kind: 'rejected', ...notFound(part.nodeId) };
  if (account.status !== 'ready') return { kind: 'rejected', ...notReady(account, account.status) };
  const refusal = refusalOf(account, demand, exchange, placements.conflict);
  if (!refusal) return { kind: 'accepted', effect };
  // A task that was not looked at is taken to be new. If it is there, it is updated in place and needs less, or may
  // not be placed at all. A new one's refusal shows neither, and no condition would ever prove it wrong.
  if (placements.unread.length > 0) return { kind: 'needs', tasks: placements.unread, account: false };
  return { kind: 'rejected', ...refusal };
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly counts: boolean;
}

const STATUS_REFUSALS = {
  down: { code: 'node-down', message: 'is down' },
  disconnected: { code: 'node-disconnected', message: 'is disconnected' },
  initializing: { code: 'node-not-ready', message: 'is initializing' },
} as const;

function notFound(nodeId: NodeId): Refusal {
  return { code: 'node-not-found', message: `node ${nodeId} is not in this pool`, counts: false };
}

function notReady({ nodeId, eligibility }: Account, status: keyof typeof STATUS_REFUSALS): Refusal {
  const { code, message } = STATUS_REFUSALS[status];
  return { code, message: `node ${nodeId} ${message}`, counts: eligibility === 'eligible' };
}

/** Why a node that is there and ready refuses. */
function refusalOf(
  account: Account,
  demand: Demand,
  exchange: Exchange,
  conflict: string | undefined,
): Refusal | undefined {
  const counts = account.eligibility === 'eligible';
  if (conflict !== undefined) return { code: 'task-conflict', message: conflict, counts };
  if (demand === 'schedulable' && !isSchedulable(account)) {
    return {
      code: 'node-ineligible',
      message: `node ${account.nodeId} is ${account.drain ? 'draining' : 'not eligible'}`,
      counts,
    };
  }
  const misfit = misfitOf(account, exchange);
  return misfit && { ...misfit, counts };
}

/** The stops and preemptions of a part: what they give back, and what becomes of the tasks. */
function endingsOf(part: NodePart, context: PartContext) {
  const gives: Holding[] = [];
  const tasks: Task[] = [];
  const alreadyGone: TaskId[] = [];
  const end = (order: Stop | Preemption): TaskId[] => {
    const task = context.task(taskKeyOf(order));
    // A task never moves: one that lives elsewhere is not the one that the worker saw here.
    if (task === undefined || task === 'missing' || task.nodeId !== part.nodeId || task.pool !== context.pool) {
      alreadyGone.push(order.taskId);
      return [];
    }
    const desiredState = laterDesired(task.desiredState, 'desiredState' in order ? order.desiredState : 'shutdown');
    const preemptedBy = 'preemptedBy' in order ? order.preemptedBy : undefined;
    const release = !task.released && !isTerminal(task.state) && context.stopRelease === 'plan';
    if (release) gives.push(holdingOf(task));
    if (!release && desiredState === task.desiredState) return [];
    // A plan that nobody goes on with may have it reserved: what is stopped now is not that plan's to finish or to undo.
    const { undo: _reserved, ...rest } = task;
    tasks.push({
      ...rest,
      version: task.version + 1,
      desiredState,
      desiredAt: desiredState === task.desiredState ? task.desiredAt : context.now,
      released: task.released || release,
      lastPlanId: context.plan.planId,
      ...(preemptedBy === undefined ? {} : { preemptedBy }),
    });
    // A task that has ended already is told that its end was dealt with, but it was not this plan that stopped it.
    return isTerminal(task.state) ? [] : [order.taskId];
  };
  const stopped = part.stops.flatMap(end);
  const preempted = part.preemptions.flatMap(end);
  const exchange: Exchange = { gives, takes: [] };
  return { exchange, tasks, alreadyGone, stopped, preempted };
}

/**
 * The placements of a part: what they take, or give back where they update a task in place. Tasks that nobody has
 * looked at, `unread`, are taken to be new.
 */
function placementsOf(part: NodePart, context: PartContext) {
  const gives: Holding[] = [];
  const takes: Holding[] = [];
  const tasks: Task[] = [];
  const unread: TaskKey[] = [];
  let conflict: string | undefined;
  let allInPlace = true;
  for (const placement of part.placements) {
    const known = context.task(taskKeyOf(placement));
    if (known === undefined) unread.push(taskKeyOf(placement));
    if (known === undefined || known === 'missing') {
      allInPlace = false;
      takes.push(holdingOf(placement));
      tasks.push(newTask(placement, context));
    } else if (isReservedByAnother(known, context.plan)) {
      conflict ??= `task ${known.taskId} is reserved by plan ${known.lastPlanId}, which has no result yet; have that plan end first`;
    } else if (isUpdatedBy(part, known, context)) {
      const change = differenceOf(known, placement);
      gives.push(change.gives);
      takes.push(change.takes);
      tasks.push({ ...known, ...placement, version: known.version + 1, lastPlanId: context.plan.planId });
    } else {
      conflict ??= conflictOf(known, part.nodeId, context.pool);
    }
  }
  return { gives, takes, tasks, unread, conflict, allInPlace };
}

/** Whether a placement in `part` of a task that is there updates it in place: it lives, and on that node. */
export function isUpdatedBy({ nodeId }: NodePart, task: Task, { pool }: { readonly pool: PoolName }): boolean {
  return task.pool === pool && task.nodeId === nodeId && isLive(task);
}

/**
 * Whether a plan that was left in the middle, its message being in the dead-letter queue, has the task reserved: what it holds
 * may be given back already though it runs, and whether it will be run at all nobody knows.
 */
function isReservedByAnother(task: Task, { planId }: Pick<Plan, 'planId'>): boolean {
  return isLive(task) && (task.undo !== undefined || task.state === 'pending') && task.lastPlanId !== planId;
}

function conflictOf(task: Task, node: NodeId, pool: PoolName): string {
  if (task.pool !== pool) return `task ${task.taskId} exists already in pool ${task.pool}`;
  if (task.nodeId !== node)
    return `task ${task.taskId} lives on node ${task.nodeId}; a task never moves, place a new one`;
  return `task ${task.taskId} is ${isTerminal(task.state) ? task.state : 'stopped'}; a task is never run again, place a new one`;
}

function newTask(placement: Placement, { plan, pool, now }: PartContext): Task {
  const planId: PlanId = plan.planId;
  return {
    ...placement,
    slotKey: slotKeyOf(placement),
    pool,
    version: 1,
    state: 'assigned',
    desiredState: 'running',
    released: false,
    appliedAt: now,
    stateTimes: { assigned: now },
    desiredAt: now,
    createdAt: now,
    planId,
    lastPlanId: planId,
    ...(plan.evalId === undefined ? {} : { evalId: plan.evalId }),
    priority: plan.priority,
  };
}
