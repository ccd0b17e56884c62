import { listed } from '../../listed.ts';
import { SCALER } from '../../settings.ts';
import type { ObservedNode } from '../observation.ts';
import type { Pool } from '../pool/classes.ts';
import { cordonerOf, isMarkedBy, isPendingDelete } from '../pool/marks.ts';
import type { Scene } from '../pool/scene.ts';
import type { Finding } from './findings.ts';

/** What nobody but a person can set right, and what would cost a machine for good without a word. */
export function leftoversOf(scene: Scene, pool: Pool): Finding[] {
  return [...sharedMachines(pool), ...cordonsOfOurs(scene, pool), ...cordonsOfOthers(scene, pool)];
}

function sharedMachines({ nodes }: Pool): Finding[] {
  const shared = nodes.filter(({ twins, live }) => twins !== undefined && live);
  if (shared.length === 0) return [];
  const named = namesOf(shared, ({ node, twins = [] }) => `${node.name} and ${twins.join(', ')}`);
  const message = `nodes that name the same machine, which is not ended as long as they do, since nobody can say what runs on it: ${named}. Delete the node that its kubelet does not keep ready any more (\`kubectl delete node\`)`;
  return [{ reason: 'NodesShareMachine', message }];
}

/** Of nodes that are not the pool's any more: the object selects another one now, or somebody has changed their labels. */
function cordonsOfOurs({ object, snapshot }: Scene, pool: Pool): Finding[] {
  const own = new Set(pool.nodes.map(({ node }) => node.uid));
  const left = snapshot.nodes.filter((node) => {
    if (!node.unschedulable || !isMarkedBy(object, node) || own.has(node.uid)) return false;
    // The node of a machine that has ended stays for a minute, ready no more.
    return node.ready && !node.deleting && !isPendingDelete(node);
  });
  if (left.length === 0) return [];
  const message = `nodes that this object has cordoned, and that are not of its pool any more: ${namesOf(left, ({ name }) => name)}. Nobody finishes their drain: bring them back (\`kubectl uncordon\`), or have the object select their pool again`;
  return [{ reason: 'LeftCordoned', message }];
}

/** An object that was deleted or renamed, or selects another pool: while two select one pool, the younger does nothing. */
function cordonsOfOthers({ object }: Scene, { nodes }: Pool): Finding[] {
  const held = nodes.filter((one) => {
    const by = cordonerOf(one.node);
    return one.class === 'held' && one.node.unschedulable && by !== undefined && by !== object;
  });
  if (held.length === 0) return [];
  const named = namesOf(held, (one) => `${one.node.name} (by ${cordonerOf(one.node)})`);
  const message = `nodes of the pool that another GameServerNode has cordoned, and that are left alone therefore: ${named}. Bring them back (\`kubectl uncordon\`), or have an object of that name select the pool again`;
  return [{ reason: 'LeftCordoned', message }];
}

/**
 * Nodes that an object has cordoned which is none of `objects`, all there are, by its name. No tick tells of them where no other
 * object selects their pool. Left out are those that are going: not ready, being deleted, or of a machine that is being
 * ended, as far as the ledger of the object (`isLeaving`) still knows of it.
 */
export function cordonsOfTheGone(
  nodes: readonly ObservedNode[],
  objects: ReadonlySet<string>,
  isLeaving: (object: string, node: ObservedNode) => boolean,
): ReadonlyMap<string, readonly string[]> {
  const left = new Map<string, string[]>();
  for (const node of nodes) {
    const by = cordonerOf(node);
    if (by === undefined || objects.has(by) || !node.unschedulable || !node.ready || node.deleting) continue;
    if (!isLeaving(by, node)) left.set(by, [...(left.get(by) ?? []), node.name]);
  }
  const sorted = [...left].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.map(([object, names]) => [object, names.sort()]));
}

function namesOf<T>(items: readonly T[], nameOf: (item: T) => string): string {
  return listed(items.map(nameOf), SCALER.namesInMessage);
}
