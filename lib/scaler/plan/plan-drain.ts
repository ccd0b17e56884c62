import { listed } from '../../listed.ts';
import { SCALER } from '../../settings.ts';
import type { EpochMs } from '../../time.ts';
import { isDeletable } from '../pool/agones.ts';
import { isDetached, type Pool, type PoolNode } from '../pool/classes.ts';
import type { Scene } from '../pool/scene.ts';
import type { Finding } from './findings.ts';
import { type Intent, NOTHING, type Part } from './intents.ts';
import { lyingCapacity, TERMINATE_SUSPENDED } from './plan-down.ts';

/** Deletes the servers without a session on the nodes that are `going`, those that this tick cordons included. */
export function planDrain({ spec }: Scene, going: readonly PoolNode[]): Part {
  const nodes = going.filter(({ servers }) => servers.some(isDeletable));
  if (nodes.length === 0) return NOTHING;
  const limit = spec.maxGameServerDeletesPerTick ?? Number.POSITIVE_INFINITY;
  return { intents: [{ kind: 'drain', nodes, limit }], findings: [] };
}

/** Removes every node that is going, has settled and is empty. Each on its own: one that is stuck holds up no other. */
export function planRemovals(scene: Scene, pool: Pool, returning: ReadonlySet<string>): Part {
  const leaving = goingOf(pool, returning);
  // What runs on a machine with two Nodes nobody can say by either.
  const empty = leaving.filter((one) => one.twins === undefined && isEmpty(one) && hasSettled(one, scene.now));
  const findings: Finding[] = [...drainsBlocked(scene, leaving), ...placedAnyway(leaving)];
  if (empty.length === 0) return { intents: [], findings };
  if (!scene.capabilities.changesSize) return { intents: [], findings, beyondProvider: true };
  const { group } = scene;
  let room = group === undefined ? Number.POSITIVE_INFINITY : Math.max(0, group.desired - group.min);
  const intents: Intent[] = [];
  for (const node of empty.sort(byCordon)) {
    if (group !== undefined && isDetached(node.instance, group)) continue;
    if (node.live && group?.terminateSuspended) {
      if (!findings.includes(TERMINATE_SUSPENDED)) findings.push(TERMINATE_SUSPENDED);
      continue;
    }
    if (group !== undefined && node.live && room === 0) {
      const [lie] = lyingCapacity(group, pool);
      findings.push(
        lie ?? {
          reason: 'BelowProviderMinimum',
          message: `node ${node.node.name} is empty and stays, since the group is at its minimum of ${group.min}: lower the minimum`,
        },
      );
      continue;
    }
    if (node.live) room -= 1;
    intents.push({ kind: 'remove', node });
  }
  return { intents, findings };
}

/** The nodes of ours that stay cordoned: draining, or on their way out. */
export function goingOf(pool: Pool, returning: ReadonlySet<string>): PoolNode[] {
  return pool.nodes.filter(
    (one) => one.ours && one.class !== 'held' && !one.node.deleting && !returning.has(one.node.uid),
  );
}

/** No game pod that runs, and no server with a session that names the node: two lists are two snapshots. */
export function isEmpty({ gamePods, protectedServers }: Pick<PoolNode, 'gamePods' | 'protectedServers'>): boolean {
  return gamePods === 0 && protectedServers === 0;
}

/** Whether the cordon is old enough for whatever was bound to the node meanwhile to be seen. */
export function hasSettled({ cordonedAt }: Pick<PoolNode, 'cordonedAt'>, now: EpochMs): boolean {
  return cordonedAt !== undefined && now - cordonedAt >= SCALER.settleSeconds * 1000;
}

function byCordon(a: PoolNode, b: PoolNode): number {
  return (a.cordonedAt ?? 0) - (b.cordonedAt ?? 0) || (a.node.name < b.node.name ? -1 : 1);
}

/** A node never empties while a fleet puts its servers there: what is deleted is replaced in the same place. */
function placedAnyway(leaving: readonly PoolNode[]): Finding[] {
  const placed = leaving.flatMap(({ node, cordonedAt, servers }) =>
    servers
      .filter(({ createdAt }) => createdAt !== undefined && cordonedAt !== undefined && isLater(createdAt, cordonedAt))
      .map(({ namespace, name }) => `${namespace}/${name} on ${node.name}`),
  );
  if (placed.length === 0) return [];
  const named = listed(placed, SCALER.namesInMessage);
  const message = `game servers are placed on nodes that are cordoned, which never empty so: ${named}. Their pods tolerate it (a toleration of operator Exists without a key does): take that out of their fleet`;
  return [{ reason: 'DrainBlocked', message }];
}

function isLater(createdAt: EpochMs, cordonedAt: EpochMs): boolean {
  return createdAt - cordonedAt >= SCALER.staleCacheSeconds * 1000;
}

function drainsBlocked({ spec, now }: Scene, leaving: readonly PoolNode[]): Finding[] {
  return leaving.flatMap((one) => {
    const { node, cordonedAt, servers, gamePods, protectedServers } = one;
    const blockedFor = cordonedAt === undefined ? 0 : now - cordonedAt;
    if (isEmpty(one) || blockedFor < spec.drainWarningSeconds * 1000) return [];
    const names = servers.slice(0, SCALER.namesInMessage).map(({ namespace, name }) => `${namespace}/${name}`);
    const hours = Math.floor(blockedFor / 3_600_000);
    const what = `${gamePods} game server pods, ${protectedServers} servers with a session`;
    const message = `node ${node.name} has been draining for ${hours} h: ${what}${names.length === 0 ? '' : ` (${names.join(', ')})`}. Nothing is forced; end them, or wait`;
    return [{ reason: 'DrainBlocked', message }];
  });
}
