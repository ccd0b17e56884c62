import type { UnjoinedMachine } from '../observation.ts';
import { classify, type Pool } from '../pool/classes.ts';
import { isMarkedBy, isPendingDelete } from '../pool/marks.ts';
import type { Scene } from '../pool/scene.ts';
import type { CronTimes } from '../spec/cron-times.ts';
import { type Clamped, clamp, type Target, targetAt } from '../spec/target.ts';
import type { Finding } from './findings.ts';
import type { Intent, Part } from './intents.ts';
import { leftoversOf } from './leftovers.ts';
import { planDown, replacementsOf } from './plan-down.ts';
import { goingOf, planDrain, planRemovals } from './plan-drain.ts';
import { planJoins } from './plan-joins.ts';
import { planLedger } from './plan-ledger.ts';
import { planUp } from './plan-up.ts';

/** What a tick is to do with one pool, in order. */
export interface TickPlan {
  readonly pool: Pool;
  /** What the spec asks for, before the limits of the provider. */
  readonly target: Target;
  readonly effective: Clamped;
  readonly intents: readonly Intent[];
  readonly findings: readonly Finding[];
  /** Machines without a node, as they are to be remembered. Undefined: they are, or nothing is to be done at all. */
  readonly unjoined?: readonly UnjoinedMachine[];
  /** Why nothing is done at all. */
  readonly still?: 'Paused' | 'ProviderFrozen';
  /** Whether there is something to do that the provider cannot. */
  readonly beyondProvider: boolean;
}

/**
 * What is to be done so that the pool comes to its target and no session ends. Decides only: whoever acts looks again
 * right before. More capacity comes before less, so that nothing that fails on the way down keeps games waiting.
 */
export function planTick(scene: Scene, times: CronTimes): TickPlan {
  const { object, snapshot, ledger, spec, group, whereabouts, now } = scene;
  const selection = { spec, whereabouts, ...(group ? { group } : {}) };
  const pool = classify(object, snapshot, ledger, selection, now);
  const target = targetAt(spec, now, times);
  const effective = clamp(target.replicas, group);
  const seen = { pool, target, effective };
  const still = spec.paused ? 'Paused' : group?.steady === false ? 'ProviderFrozen' : undefined;
  const joins = planJoins(scene);
  if (still !== undefined) {
    // As of orders to a hook: while a pool is paused, nobody is told of what does not come.
    const findings = [...observed(scene, pool), ...(still === 'Paused' ? [] : joins.findings)];
    return { ...seen, intents: [], findings, still, beyondProvider: false };
  }
  const parts = partsOf(scene, pool, effective.replicas);
  return {
    ...seen,
    intents: parts.flatMap(({ intents }) => intents),
    findings: [...observed(scene, pool), ...joins.findings, ...parts.flatMap(({ findings }) => findings)],
    ...(joins.remember && { unjoined: joins.remember }),
    beyondProvider: parts.some(({ beyondProvider }) => beyondProvider === true),
  };
}

function partsOf(scene: Scene, pool: Pool, target: number): Part[] {
  const up = planUp(scene, pool, target + replacementsOf(scene, pool));
  const returning = new Set(up.intents.flatMap((intent) => (intent.kind === 'uncordon' ? [intent.node.node.uid] : [])));
  const down = returning.size > 0 ? { intents: [], findings: [] } : planDown(scene, pool, target);
  const cordoned = down.intents.flatMap((intent) => (intent.kind === 'cordon' ? [intent.node] : []));
  return [
    planLedger(scene, pool),
    planMarks(scene, pool),
    up,
    down,
    planDrain(scene, [...goingOf(pool, returning).filter(({ live }) => live), ...cordoned]),
    planRemovals(scene, pool, returning),
  ];
}

/** Takes stale marks off nodes that somebody else uncordoned, and dates a cordon of ours that has no date. */
function planMarks({ object }: Scene, pool: Pool): Part {
  const intents = pool.nodes.flatMap((one): Intent[] => {
    if (one.node.deleting) return [];
    if (one.ours) return one.cordonedAt === undefined ? [{ kind: 'cordon', node: one }] : [];
    const marked = isMarkedBy(object, one.node) || isPendingDelete(one.node);
    return marked && !one.node.unschedulable ? [{ kind: 'unmark', node: one }] : [];
  });
  return { intents, findings: [] };
}

/** What is wrong whatever is done. */
function observed(scene: Scene, pool: Pool): Finding[] {
  const { group } = scene;
  const findings = leftoversOf(scene, pool);
  if (group?.shortage !== undefined && pool.pending > 0) {
    const message = `machines could not be launched: ${group.shortage}. The group goes on trying by itself`;
    findings.push({ reason: 'CapacityShortage', message });
  }
  if (pool.strays.length > 0) {
    const message = `nodes that are labelled as of this pool and whose machines are of another group: ${pool.strays.join(', ')}`;
    findings.push({ reason: 'NodeNotInGroup', message });
  }
  return findings;
}
