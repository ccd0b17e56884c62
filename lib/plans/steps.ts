import { type Account, type Exchange, exchanged } from '../nodes/account.ts';
import { FREE } from '../nodes/claims.ts';
import type { Pool } from '../nodes/pool.ts';
import { amountOf } from '../nodes/resources.ts';
import { holdingOf } from '../tasks/holding.ts';
import { isTerminal, laterDesired } from '../tasks/states.ts';
import type { Task } from '../tasks/task.ts';
import type { EpochMs } from '../time.ts';
import { isUpdatedBy, type NodePart, type PartEffect, type TaskKey, taskKeyOf } from './decide-part.ts';
import { decideOn } from './decide-plan.ts';
import { alsoNeeds, type Facts, type Needs, noNeeds } from './facts.ts';
import { differenceOf, leftOf } from './in-place.ts';
import { accountAfter, enterAccount, enterTask, type Ledger, taskAfter } from './ledger.ts';
import type { Placement, Plan, Preemption, Stop } from './plan.ts';

/**
 * Orders of a plan that is committed in steps. Each order takes one step when it is reserved: its node's account and its
 * task are written together, so that at every moment what is free and what tasks hold add up. It takes one more when it
 * is carried out, or given back. A reserved task is `pending` if it is new, so that no agent takes it; one that was there
 * carries in `undo` what it was.
 */
export type Order =
  | { readonly part: NodePart; readonly kind: 'stop'; readonly order: Stop }
  | { readonly part: NodePart; readonly kind: 'preemption'; readonly order: Preemption }
  /** What a placement that updates a task in place gives back, before any placement takes something. */
  | { readonly part: NodePart; readonly kind: 'yield'; readonly order: Placement }
  | { readonly part: NodePart; readonly kind: 'placement'; readonly order: Placement };

/**
 * The orders of parts, in the order in which they are reserved: of each node everything that gives back before everything
 * that takes, so that together they fit exactly if the part as a whole does.
 */
export function ordersOf(parts: readonly NodePart[]): Order[] {
  return parts.flatMap((part) => [
    ...part.stops.map((order): Order => ({ part, kind: 'stop', order })),
    ...part.preemptions.map((order): Order => ({ part, kind: 'preemption', order })),
    ...part.placements.map((order): Order => ({ part, kind: 'yield', order })),
    ...part.placements.map((order): Order => ({ part, kind: 'placement', order })),
  ]);
}

export type StepOutcome =
  | { readonly kind: 'needs'; readonly needs: Needs }
  /** It does not fit any more: what was reserved is to be given back. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'done'; readonly effect?: PartEffect };

const DONE: StepOutcome = { kind: 'done' };

/** Reserves an order in `ledger`. */
export function reserve(
  { part, kind, order }: Order,
  plan: Plan,
  ledger: Ledger,
  facts: Facts,
  pool: Pool,
  now: EpochMs,
): StepOutcome {
  const needs = needsOf(part, order, ledger, facts, now);
  if (needs) return needs;
  if (kind === 'yield') {
    yieldSome(part, order, plan, ledger, facts, pool, now);
    return DONE;
  }
  const alone: NodePart = {
    nodeId: part.nodeId,
    stops: kind === 'stop' ? [order] : [],
    preemptions: kind === 'preemption' ? [order] : [],
    placements: kind === 'placement' ? [order] : [],
  };
  const outcome = decideOn(alone, plan, ledger, facts, pool, now);
  if (outcome.kind === 'rejected') return { kind: 'refused' };
  if (outcome.kind === 'needs')
    return { kind: 'needs', needs: alsoTasks(outcome.tasks, outcome.account ? part : undefined) };
  const { effect } = outcome;
  if (effect.exchange.gives.length + effect.exchange.takes.length > 0)
    moveIn(part, effect.exchange, ledger, facts, pool, now);
  for (const image of effect.tasks) {
    const key = taskKeyOf(image);
    const before = taskAfter(key, ledger, facts);
    const reserved = before === undefined || before === 'missing' ? pendingOf(image, now) : heldBack(image, before);
    enterTask(key, reserved, ledger, facts);
  }
  return { kind: 'done', effect };
}

function yieldSome(
  part: NodePart,
  order: Placement,
  plan: Plan,
  ledger: Ledger,
  facts: Facts,
  pool: Pool,
  now: EpochMs,
): void {
  const key = taskKeyOf(order);
  const task = taskAfter(key, ledger, facts);
  if (task === undefined || task === 'missing' || !isUpdatedBy(part, task, pool)) return;
  const { gives } = differenceOf(task, order);
  if (gives.claims.length === 0 && Object.keys(gives.resources).length === 0) return;
  moveIn(part, { gives: [gives], takes: [] }, ledger, facts, pool, now);
  const image = { ...task, ...leftOf(task, order), lastPlanId: plan.planId };
  enterTask(key, heldBack(image, task), ledger, facts);
}

function moveIn(
  { nodeId }: NodePart,
  exchange: Exchange,
  ledger: Ledger,
  facts: Facts,
  pool: Pool,
  now: EpochMs,
): void {
  const account = accountAfter(nodeId, ledger, facts, now);
  if (account !== undefined && account !== 'missing') enterAccount(exchanged(account, exchange), ledger, facts, pool);
}

/** Carries out a reserved order: its account was written when it was reserved. */
export function carryOut({ kind, order }: Order, plan: Plan, ledger: Ledger, facts: Facts, now: EpochMs): StepOutcome {
  // Its placement comes after it.
  if (kind === 'yield') return DONE;
  const key = taskKeyOf(order);
  const task = taskAfter(key, ledger, facts);
  if (task === undefined) return { kind: 'needs', needs: alsoTasks([key]) };
  if (task === 'missing' || task.lastPlanId !== plan.planId) return DONE;
  if (kind === 'placement' && task.state === 'pending') {
    const stateTimes = { ...task.stateTimes, assigned: now };
    enterTask(key, { ...task, state: 'assigned', appliedAt: now, stateTimes }, ledger, facts);
  } else if (task.undo) {
    enterChanged(key, task, order, ledger, facts, now);
  }
  return DONE;
}

/** Enters a task that was there as its order leaves it, for good. */
function enterChanged(
  key: TaskKey,
  task: Task,
  order: Order['order'],
  ledger: Ledger,
  facts: Facts,
  now: EpochMs,
): void {
  const { undo: _done, ...rest } = task;
  const wanted =
    'resources' in order
      ? task.desiredState
      : laterDesired(task.desiredState, 'desiredState' in order ? order.desiredState : 'shutdown');
  const desiredAt = wanted === task.desiredState ? task.desiredAt : now;
  enterTask(key, { ...rest, desiredState: wanted, desiredAt }, ledger, facts);
}

/**
 * Whether somebody else holds by now what an exchange would have again. An amount has no holder: that there is less of it
 * than was given says so only where others were `beside` the plan, for otherwise it is the node that has become smaller.
 */
function isTakenIn(account: Account, exchange: Exchange, beside: boolean): boolean {
  const { claims, sharers, free } = account;
  const after = Object.entries(exchanged(account, exchange).free);
  if (beside && after.some(([name, left]) => left < Math.min(0, amountOf(free, name)))) return true;
  return exchange.takes.some(({ taskId, claims: asked }) =>
    asked.some(({ key, kind, mode }) => {
      const holder = claims.get(key) ?? FREE;
      // Beside its holder a port is held by who ignores collisions.
      if (kind === 'port' && mode === 'ignoring') return false;
      const shared =
        kind === 'volume' && mode === 'exclusive' && [...(sharers.get(key) ?? [])].some((id) => id !== taskId);
      return shared || (holder !== FREE && holder !== taskId);
    }),
  );
}

/**
 * Gives a reserved order back: everything is as it was before, unless the task has ended meanwhile. `beside`: others have
 * committed since it was reserved.
 */
export function giveBack(
  { part, kind, order }: Order,
  plan: Plan,
  ledger: Ledger,
  facts: Facts,
  pool: Pool,
  now: EpochMs,
  beside: boolean,
): StepOutcome {
  const needs = needsOf(part, order, ledger, facts, now);
  if (needs) return needs;
  const key = taskKeyOf(order);
  const task = taskAfter(key, ledger, facts);
  if (task === undefined || task === 'missing' || task.lastPlanId !== plan.planId) return DONE;
  const move = (exchange: Exchange) => moveIn(part, exchange, ledger, facts, pool, now);
  if (!task.undo) {
    // A new one goes, whatever was reported of it meanwhile. It has yielded nothing: it goes with its placement.
    if (kind === 'yield' || task.planId !== plan.planId) return DONE;
    enterTask(key, undefined, ledger, facts);
    move({ gives: task.released ? [] : [holdingOf(task)], takes: [] });
  } else {
    const { undo, preemptedBy: _given, ...rest } = task;
    const restored: Task = { ...rest, ...undo };
    if (isTerminal(task.state)) {
      // What it held went back when it ended.
      enterTask(key, { ...restored, released: true }, ledger, facts);
    } else if (kind === 'placement') {
      // As far as it had yielded: what it yielded may be another's, who has to give it back first.
      const yielded: Task = { ...task, ...leftOf(restored, order) };
      const { gives, takes } = differenceOf(task, yielded);
      enterTask(key, yielded, ledger, facts);
      move({ gives: [gives], takes: [takes] });
    } else {
      const exchange: Exchange =
        kind === 'yield'
          ? { gives: [], takes: [differenceOf(task, restored).takes] }
          : { gives: task.released ? [] : [holdingOf(task)], takes: restored.released ? [] : [holdingOf(restored)] };
      const account = accountAfter(part.nodeId, ledger, facts, now);
      // It was left in the middle, and others have taken what it had given: two cannot hold it, so the order stands.
      if (account && account !== 'missing' && isTakenIn(account, exchange, beside)) {
        enterChanged(key, task, order, ledger, facts, now);
        return DONE;
      }
      enterTask(key, restored, ledger, facts);
      move(exchange);
    }
  }
  return DONE;
}

/** Steps go by what was read: a condition that fails in the middle of a node could not be told from one that fails at its start. */
function needsOf(
  part: NodePart,
  order: Order['order'],
  ledger: Ledger,
  facts: Facts,
  now: EpochMs,
): StepOutcome | undefined {
  const key = taskKeyOf(order);
  const noAccount = accountAfter(part.nodeId, ledger, facts, now) === undefined;
  const noTask = taskAfter(key, ledger, facts) === undefined;
  if (!noAccount && !noTask) return undefined;
  return { kind: 'needs', needs: alsoTasks(noTask ? [key] : [], noAccount ? part : undefined) };
}

function alsoTasks(tasks: Iterable<Parameters<Needs['tasks']['add']>[0]>, part?: NodePart): Needs {
  const needs = noNeeds();
  for (const key of tasks) needs.tasks.add(key);
  if (part) needs.accounts.add(part.nodeId);
  return needs;
}

/** What all of `orders` need, so that one batch of reads serves them. */
export function needsOfAll(orders: readonly Order[], ledger: Ledger, facts: Facts, now: EpochMs): Needs {
  const needs = noNeeds();
  for (const { part, order } of orders) {
    const missing = needsOf(part, order, ledger, facts, now);
    if (missing?.kind === 'needs') alsoNeeds(needs, missing.needs);
  }
  return needs;
}

/** A new task before its plan is committed: nobody's to run. */
function pendingOf(image: Task, now: EpochMs): Task {
  return { ...image, state: 'pending', appliedAt: now, stateTimes: { pending: now } };
}

/** A task that was there, before the plan that changes it is committed: it holds what it will hold, and is wanted as before. */
function heldBack(image: Task, before: Task): Task {
  const { resources, ports, cores, devices, volumes, jobIteration, released, lastPlanId, preemptedBy } = before;
  const undo = {
    resources,
    ports,
    cores,
    devices,
    volumes,
    jobIteration,
    released,
    lastPlanId,
    ...(preemptedBy === undefined ? {} : { preemptedBy }),
  };
  const { desiredState, desiredAt } = before;
  // What it was before it yielded something to the same plan is what it is to be again; and what it was before another plan,
  // which was left in the middle, reserved it.
  return { ...image, desiredState, desiredAt, undo: before.undo ?? undo };
}
