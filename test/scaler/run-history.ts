import { Killed } from '../../cases/scaler/faults.ts';
import type { Intercept, WorldCall } from '../../cases/scaler/world.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import type { Group, Ledger, ObservedNode } from '../../lib/scaler/observation.ts';
import { lifeOf } from '../../lib/scaler/pool/classes.ts';
import { instanceOf } from '../../lib/scaler/pool/membership.ts';
import type { ObjectOutcome } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';
import { happen } from './happen.ts';
import type { Fault, History, Step } from './histories.ts';

const MINUTE_MS = 60_000;

/** Runs a history; everything that it did and must not have. */
export async function runHistory(
  history: History,
): Promise<{ readonly bed: ScalerBed; readonly violations: string[] }> {
  const bed = bedOf(history);
  const violations: string[] = [];
  for (const [index, step] of history.steps.entries()) {
    for (const event of step.events) happen(bed, event);
    bed.now = (bed.now + step.minutes * MINUTE_MS) as EpochMs;
    violations.push(...(await runStep(bed, step)).map((violation) => `step ${index}: ${violation}`));
  }
  return { bed, violations };
}

function bedOf(history: History): ScalerBed {
  const bed = new ScalerBed(history.kind, history.replicas);
  fill(bed, history);
  return bed;
}

/** Brings a bed into the state that a history begins with. */
export function fill(bed: ScalerBed, { nodes, min, span, limit, servers }: Omit<History, 'steps'>): void {
  bed.limit = limit;
  const names = Array.from({ length: nodes }, () => bed.addNode());
  for (const { node, state } of servers) {
    const name = names[node % Math.max(1, nodes)];
    if (name !== undefined) bed.addServer(name, state);
  }
  const { group } = bed.world;
  if (group) bed.world.group = { ...group, min: Math.min(min, nodes), max: Math.max(min + span, nodes) };
}

async function runStep(bed: ScalerBed, step: Step): Promise<string[]> {
  if (step.tick === 'at-once') return atOnce(bed, step.faults);
  const before = countsOf(seenIn(bed));
  const late: (() => void)[] = [];
  const outcome = await bed.tick(interceptor(bed, step.faults, late));
  const log = bed.takeLog();
  const violations = [...log.violations];
  if (outcome && isUnobserved(outcome) && log.changes > 0) violations.push(`I8: ${log.changes} changes, unobserved`);
  const more = log.increaseBy + log.uncordoned.length;
  if (before.target <= before.active + before.pending && more > 0) violations.push(`I11: ${more} more than the target`);
  if (before.target >= before.active && log.cordoned.length > 0) violations.push('I11: cordoned below the target');
  for (const effect of late) effect();
  violations.push(...bed.takeLog().violations);
  if (step.tick === 'again') violations.push(...(await again(bed)));
  return violations;
}

/**
 * I9, of a tick that nothing happens to. Where servers are deleted by portions, the next portion is none of it; nor is an
 * order for which there is room only since a machine was ended.
 */
async function again(bed: ScalerBed): Promise<string[]> {
  const untouched: Intercept = async (_, act) => act();
  const { active, pending, target } = countsOf(seenIn(bed));
  await bed.tick(untouched);
  const first = bed.takeLog();
  await bed.tick(untouched);
  const second = bed.takeLog();
  if (active + pending < target && first.instancesDeleted.length > 0) second.changes -= Math.min(1, second.increaseBy);
  const portions = bed.limit === undefined ? second.changes : second.changes - second.gameServersDeleted.length;
  const repeated = portions === 0 ? [] : [`I9: the same tick again changed ${portions} things`];
  return [...first.violations, ...second.violations, ...repeated];
}

/**
 * Two functions at once, which no lease keeps apart. What one has looked at the other changes before the deed: that a node
 * is still cordoned, and how near the group is to its minimum, which the provider sees to.
 */
async function atOnce(bed: ScalerBed, faults: readonly Fault[]): Promise<string[]> {
  const late: (() => void)[] = [];
  const struck = interceptor(
    bed,
    faults.filter(({ kind }) => kind !== 'bind'),
    late,
  );
  const mixed = interleaved(struck);
  await Promise.all([bed.tick(mixed), bed.tick(mixed)]);
  for (const effect of late) effect();
  return bed.takeLog().violations.filter((violation) => !/^I[25]:/.test(violation));
}

/** Lets the calls of functions that run at once come in turns, now one, now the other. */
export function interleaved(intercept: Intercept): Intercept {
  let calls = 0;
  return async (call, act) => {
    calls += 1;
    for (let turn = (calls * 7) % 5; turn > 0; turn--) await Promise.resolve();
    return intercept(call, act);
  };
}

function isUnobserved({ status }: ObjectOutcome): boolean {
  return status.nodes === undefined;
}

/** Lets faults strike by the number of the call. */
export function interceptor(bed: ScalerBed, faults: readonly Fault[], late: (() => void)[]): Intercept {
  let calls = 0;
  return async (call, act) => {
    const fault = faults.find((one) => one.call === calls);
    calls += 1;
    if (fault === undefined) return act();
    switch (fault.kind) {
      case 'race':
        happen(bed, { kind: 'allocate', at: calls });
        return act();
      case 'bind':
        bindLate(bed, call, calls);
        return act();
      case 'killed-before':
        throw new Killed(call.operation);
      case 'killed-after':
        act();
        throw new Killed(call.operation);
      case 'lost':
        act();
        throw new CallError('unknown', 'Timeout', 'the answer was lost');
      case 'late':
        late.push(() => quietly(act));
        throw new CallError('unknown', 'Timeout', 'no answer yet');
      default:
        throw errorOf(fault.kind, call);
    }
  };
}

/** A scheduler with a stale cache, or a pod that tolerates everything: it comes to a node that is cordoned. */
export function bindLate(bed: ScalerBed, { operation }: WorldCall, at: number): void {
  const cordoned = [...bed.world.nodes.values()].filter(({ unschedulable }) => unschedulable);
  const node = cordoned[at % Math.max(1, cordoned.length)];
  // Between the last look and the deed nothing could be done about it.
  const seen = operation === 'snapshot' || operation === 'listGameServers' || operation === 'readNode';
  if (node && seen) bed.addServer(node.name, at % 2 === 0 ? 'Allocated' : 'Ready');
}

function errorOf(kind: 'refused' | 'conflict' | 'throttled' | 'denied', { operation }: WorldCall): CallError {
  return new CallError(kind, kind, `${operation}: ${kind}`);
}

/** What comes late may come too late. */
function quietly(act: () => unknown): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
  }
}

interface Counts {
  readonly active: number;
  readonly pending: number;
  readonly target: number;
  readonly held: number;
}

/** What the numbers of a pool follow from. */
export interface Seen extends Pick<ScalerBed, 'replicas' | 'now'> {
  readonly nodes: readonly ObservedNode[];
  readonly group: Group | undefined;
  readonly ledger: Ledger;
}

export function seenIn({ world, replicas, now }: ScalerBed): Seen {
  return { nodes: [...world.nodes.values()], group: world.group, ledger: world.ledger, replicas, now };
}

/** What the pool comes to, counted apart from the scaler's code. */
export function countsOf({ nodes, group, ledger, replicas, now }: Seen): Counts {
  if (group === undefined) {
    const order = ledger.pendingIncrease;
    const joined = nodes.filter(({ uid }) => !order?.baseline.includes(uid)).length;
    const open = order !== undefined && now < order.since + 15 * MINUTE_MS;
    return {
      active: nodes.filter(({ unschedulable }) => !unschedulable).length,
      pending: open ? Math.max(0, order.count - joined) : 0,
      target: replicas,
      held: 0,
    };
  }
  const live = nodes.filter((node) => lifeOf(group.instances.get(instanceOf(node) ?? '')) === 'live');
  const orphans = ledger.pendingDeletions.filter(
    ({ uid, instance }) =>
      !nodes.some((node) => node.uid === uid || instanceOf(node) === instance) &&
      lifeOf(group.instances.get(instance ?? '')) === 'live',
  );
  const active = live.filter(({ unschedulable }) => !unschedulable).length;
  return {
    active,
    pending: Math.max(0, group.desired - live.length - orphans.length),
    target: Math.min(group.max, Math.max(group.min, replicas)),
    held: live.length - active,
  };
}
