import { SCALER } from '../../settings.ts';
import type { PendingDeletion } from '../observation.ts';
import { isRunningGamePod } from '../pool/agones.ts';
import type { Pool } from '../pool/classes.ts';
import { isMarkedBy } from '../pool/marks.ts';
import type { Scene } from '../pool/scene.ts';
import type { Finding } from './findings.ts';
import { type Intent, NOTHING, type Part } from './intents.ts';

/** Ends what an earlier tick began and did not end, and forgets what has ended. */
export function planLedger(scene: Scene, pool: Pool): Part {
  const intents = scene.ledger.pendingDeletions.flatMap((entry) => repairOf(entry, scene, pool));
  const order = planOrder(scene, pool);
  return { intents: [...intents, ...order.intents], findings: order.findings };
}

function repairOf(entry: PendingDeletion, scene: Scene, pool: Pool): Intent[] {
  const node = scene.snapshot.nodes.find(({ uid }) => uid === entry.uid);
  if (node !== undefined) {
    // Cordoned and ours, it is removed like any other. If somebody uncordoned it, nothing is to be removed any more.
    return node.unschedulable && isMarkedBy(scene.object, node) ? [] : [{ kind: 'forget', entry }];
  }
  if (!pool.orphans.includes(entry)) return [{ kind: 'forget', entry }];
  // What runs on a machine whose node is gone goes on running, until Kubernetes notices.
  const named = scene.snapshot.nodes.some(({ name }) => name === entry.node);
  const runs = !named && scene.snapshot.pods.some((pod) => pod.nodeName === entry.node && isRunningGamePod(pod));
  return runs ? [] : [{ kind: 'finish', entry }];
}

function planOrder({ ledger, group }: Scene, pool: Pool): Part {
  const { pendingIncrease: order } = ledger;
  if (order === undefined) return NOTHING;
  if (group !== undefined) return { intents: [{ kind: 'forget-order' }], findings: [] };
  const findings: Finding[] = [];
  if (pool.pending === 0) {
    const before = new Set(order.baseline);
    const joined = pool.nodes.filter(({ node }) => !before.has(node.uid)).length;
    const missing = order.count - joined;
    if (missing > 0) {
      const minutes = SCALER.joinSeconds / 60;
      findings.push({
        reason: 'NodesNotJoining',
        message: `${missing} of ${order.count} nodes that were ordered have not joined within ${minutes} minutes, and are not waited for any longer: look at the hook, and at what the machines say when they start`,
      });
    }
    return { intents: [{ kind: 'forget-order' }], findings };
  }
  return { intents: [], findings };
}
