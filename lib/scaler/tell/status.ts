import { SCALER } from '../../settings.ts';
import type { EpochMs } from '../../time.ts';
import type { Ledger } from '../observation.ts';
import { DEGRADED_REASONS, type DegradedReason, type Finding } from '../plan/findings.ts';
import { goingOf } from '../plan/plan-drain.ts';
import type { TickPlan } from '../plan/plan-tick.ts';
import type { Pool } from '../pool/classes.ts';
import type { Scene } from '../pool/scene.ts';
import type { CronTimes } from '../spec/cron-times.ts';
import type { InvalidReason } from '../spec/spec.ts';
import { nextTransition, type Target, type Transition } from '../spec/target.ts';
import { limitWarnings } from './limit-warnings.ts';

/** Every reason that a condition of a GameServerNode may have. */
export type ValidReason = InvalidReason | 'ProviderUnreachable' | 'ConflictingGameServerNode' | 'Accepted';

export interface Condition {
  readonly type: 'Valid' | 'AtTarget' | 'TargetClamped' | 'Degraded';
  /** Unknown: the pool was not looked at. */
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** What a GameServerNode shows of itself. */
export interface PoolStatus {
  /** Undefined where the target was not acted on: frozen, paused objects excepted. */
  readonly effectiveTarget?: number;
  readonly targetSource?: Target['source'];
  readonly nextTransition?: Transition;
  readonly nodes?: {
    readonly active: number;
    readonly pending: number;
    readonly draining: number;
    readonly held: number;
    readonly notReady: number;
  };
  /** Limits and size of the group, where its provider can be asked. */
  readonly provider?: {
    readonly name: string;
    readonly desired?: number;
    readonly min?: number;
    readonly max?: number;
  };
  /** Allocated and Reserved servers on the nodes of the pool. */
  readonly protectedServers?: number;
  /** Nodes that are draining; of many the oldest. */
  readonly drains?: readonly {
    readonly node: string;
    readonly since?: EpochMs;
    readonly protectedServers: number;
    readonly gamePods: number;
  }[];
  /** Machines that are being removed, as the ledger has them; of many the oldest. */
  readonly pendingDeletions?: readonly { readonly node: string; readonly instance?: string; readonly since: EpochMs }[];
  /** Machines that a hook was asked for and that have not joined. */
  readonly pendingIncrease?: { readonly count: number; readonly since: EpochMs };
  readonly conditions: readonly Condition[];
  /** All that is not as it should be, for metrics and alarms; of the conditions, Degraded names the weightiest alone. */
  readonly degraded?: readonly DegradedReason[];
}

/** The status after a tick that planned `plan`, with whatever its deeds found besides, what its provider warns of, and the ledger as they left it. */
export function statusOf(
  scene: Scene,
  plan: TickPlan,
  found: readonly Finding[],
  times: CronTimes,
  warnings: readonly string[],
  ledger: Ledger,
): PoolStatus {
  const { pool, target, effective, still } = plan;
  const { group } = scene;
  const count = (of: string) => pool.nodes.filter((one) => one.class === of).length;
  const next = nextTransition(scene.spec, scene.now, times);
  // First, so that none of the others cuts them off an event.
  const warned = [...limitWarnings(scene.spec, group, scene.now), ...warnings];
  return {
    ...(still === 'ProviderFrozen' ? {} : { effectiveTarget: effective.replicas, targetSource: target.source }),
    ...(next === undefined ? {} : { nextTransition: next }),
    nodes: {
      active: count('active'),
      pending: pool.pending,
      draining: goingOf(pool, new Set()).length,
      held: count('held'),
      notReady: pool.nodes.filter(({ node }) => !node.ready).length,
    },
    provider: {
      name: scene.spec.provider,
      ...(group === undefined ? {} : { desired: group.desired, min: group.min, max: group.max }),
    },
    protectedServers: pool.nodes.reduce((sum, one) => sum + one.protectedServers, 0),
    ...drainsShown(pool),
    ...ledgerShown(ledger),
    conditions: [
      { type: 'Valid', status: 'True', reason: 'Accepted', message: warned.join('; ') },
      atTarget(plan),
      clampedCondition(plan, scene),
      degraded([...plan.findings, ...found]),
    ],
    degraded: reasonsOf([...plan.findings, ...found]),
  };
}

/** Left out where there is none: `kubectl describe` would show a heading with nothing below. */
function drainsShown(pool: Pool): Pick<PoolStatus, 'drains'> {
  const oldest = goingOf(pool, new Set()).sort(
    (a, b) => (a.cordonedAt ?? 0) - (b.cordonedAt ?? 0) || (a.node.name < b.node.name ? -1 : 1),
  );
  const drains = oldest.slice(0, SCALER.drainsShown).map(({ node, cordonedAt, protectedServers, gamePods }) => ({
    node: node.name,
    ...(cordonedAt === undefined ? {} : { since: cordonedAt }),
    protectedServers,
    gamePods,
  }));
  return drains.length === 0 ? {} : { drains };
}

function ledgerShown({ pendingDeletions, pendingIncrease }: Ledger): Partial<PoolStatus> {
  const oldest = [...pendingDeletions].sort((a, b) => a.since - b.since).slice(0, SCALER.deletionsShown);
  const shown = oldest.map(({ node, instance, since }) => ({ node, ...(instance ? { instance } : {}), since }));
  return {
    ...(shown.length === 0 ? {} : { pendingDeletions: shown }),
    ...(pendingIncrease && { pendingIncrease: { count: pendingIncrease.count, since: pendingIncrease.since } }),
  };
}

/** The status of an object that is acted on in no way. */
export function invalidStatus(reason: Exclude<ValidReason, 'Accepted'>, message: string): PoolStatus {
  const unknown = 'the pool is neither looked at nor acted on: see condition Valid';
  return {
    conditions: [
      { type: 'Valid', status: 'False', reason, message },
      // The columns State and Health show their reasons.
      { type: 'AtTarget', status: 'Unknown', reason, message: unknown },
      { type: 'Degraded', status: 'Unknown', reason, message: unknown },
    ],
  };
}

/** The status where the pool could not be seen whole: nothing was done. */
export function unobservedStatus(message: string): PoolStatus {
  return {
    conditions: [
      { type: 'Valid', status: 'True', reason: 'Accepted', message: '' },
      { type: 'AtTarget', status: 'Unknown', reason: 'ObservationFailed', message: 'see condition Degraded' },
      degraded([{ reason: 'ObservationFailed', message }]),
    ],
    degraded: ['ObservationFailed'],
  };
}

function atTarget({ pool, effective, still, beyondProvider }: TickPlan): Condition {
  const active = pool.nodes.filter((one) => one.class === 'active').length;
  const going = goingOf(pool, new Set()).length;
  const counts = `${active} active, ${pool.pending} pending, ${going} draining, target ${effective.replicas}`;
  const no = (reason: string): Condition => ({ type: 'AtTarget', status: 'False', reason, message: counts });
  if (still !== undefined) return no(still);
  if (beyondProvider) return no('ProviderNoop');
  if (active < effective.replicas) return no('ScalingUp');
  if (active > effective.replicas || going > 0) return no('ScalingDown');
  return { type: 'AtTarget', status: 'True', reason: 'AtTarget', message: counts };
}

function clampedCondition({ target, effective }: TickPlan, { group }: Scene): Condition {
  const { clamped } = effective;
  if (clamped === undefined) return { type: 'TargetClamped', status: 'False', reason: 'WithinLimits', message: '' };
  const message = `${target.replicas} are asked for, the group has from ${group?.min} to ${group?.max}: change its limits, or the target`;
  return { type: 'TargetClamped', status: 'True', reason: clamped, message };
}

function reasonsOf(findings: readonly Finding[]): DegradedReason[] {
  return DEGRADED_REASONS.filter((reason) => findings.some((finding) => finding.reason === reason));
}

function degraded(findings: readonly Finding[]): Condition {
  const [first] = reasonsOf(findings);
  if (first === undefined) return { type: 'Degraded', status: 'False', reason: 'AsExpected', message: '' };
  const messages = DEGRADED_REASONS.flatMap((reason) =>
    findings.filter((finding) => finding.reason === reason).map(({ message }) => message),
  );
  return { type: 'Degraded', status: 'True', reason: first, message: [...new Set(messages)].join('; ') };
}
