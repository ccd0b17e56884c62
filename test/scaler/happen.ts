import { lifeOf } from '../../lib/scaler/pool/classes.ts';
import { isPendingDelete } from '../../lib/scaler/pool/marks.ts';
import { instanceOf } from '../../lib/scaler/pool/membership.ts';
import type { ScalerBed } from './bed.ts';
import type { Event } from './histories.ts';

/** What the outside does to a pool between two ticks: players, fleets, the provider and administrators. */
export function happen(bed: ScalerBed, event: Event): void {
  const { world } = bed;
  const nodes = [...world.nodes.values()];
  const servers = [...world.servers.values()].filter(({ deleting }) => !deleting);
  const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)];
  switch (event.kind) {
    case 'allocate':
    case 'reserve': {
      const server = pick(
        servers.filter(({ state }) => state === 'Ready'),
        event.at,
      );
      if (server) bed.changeServer(server.name, { state: event.kind === 'allocate' ? 'Allocated' : 'Reserved' });
      return;
    }
    case 'end': {
      const server = pick(
        servers.filter(({ state }) => state === 'Allocated' || state === 'Reserved'),
        event.at,
      );
      if (server) bed.removeServer(server.name);
      return;
    }
    case 'start': {
      const node = pick(
        nodes.filter(({ unschedulable }) => !unschedulable),
        event.at,
      );
      if (node) bed.addServer(node.name, event.at % 2 === 0 ? 'Ready' : 'Scheduled');
      return;
    }
    case 'lose-pod': {
      const server = pick(servers, event.at);
      if (server) world.pods.delete(`default/${server.name}`);
      return;
    }
    case 'admin-cordon': {
      const node = pick(
        nodes.filter(({ unschedulable }) => !unschedulable),
        event.at,
      );
      if (node) bed.changeNode(node.name, { unschedulable: true });
      return;
    }
    case 'admin-uncordon': {
      const node = pick(
        nodes.filter((one) => one.unschedulable && !isPendingDelete(one)),
        event.at,
      );
      if (node) bed.changeNode(node.name, { unschedulable: false });
      return;
    }
    case 'toggle-ready': {
      const node = pick(nodes, event.at);
      if (node) bed.changeNode(node.name, { ready: !node.ready });
      return;
    }
    case 'retarget':
      bed.replicas = event.replicas;
      return;
    case 'finish':
      for (const { name, deleting } of world.servers.values()) if (deleting) bed.removeServer(name);
      return;
    default:
      ofProvider(bed, event);
  }
}

function ofProvider(bed: ScalerBed, event: Event): void {
  const { world } = bed;
  const { group } = world;
  if (event.kind === 'join') join(bed);
  if (event.kind === 'clean-up') cleanUp(bed);
  if (group === undefined) return;
  switch (event.kind) {
    case 'launch': {
      const live = [...group.instances].filter(([, state]) => lifeOf(state) === 'live').length;
      const instances = new Map(group.instances);
      for (let at = live; at < group.desired; at++) instances.set(`i-launched${at}x${world.nextVersion()}`, 'Pending');
      world.group = { ...group, instances };
      return;
    }
    case 'fail-machine': {
      const live = [...group.instances].filter(([, state]) => lifeOf(state) === 'live');
      const failed = live[event.at % Math.max(1, live.length)];
      if (failed) world.group = { ...group, instances: new Map(group.instances).set(failed[0], 'Terminating') };
      return;
    }
    case 'toggle-suspended':
      world.group = { ...group, terminateSuspended: !group.terminateSuspended };
      return;
    case 'toggle-steady':
      world.group = { ...group, steady: !group.steady };
      return;
    case 'limits':
      world.group = {
        ...group,
        min: Math.min(event.min, group.desired),
        max: Math.max(event.min + event.span, group.desired),
      };
      return;
    default:
      return;
  }
}

/** Every machine that was ordered comes up, and its node joins. */
function join(bed: ScalerBed): void {
  const { group } = bed.world;
  if (group === undefined) {
    while (bed.kind === 'custom' && bed.ordered > 0) {
      bed.ordered -= 1;
      bed.addNode();
    }
    return;
  }
  const registered = new Set([...bed.world.nodes.values()].map(instanceOf));
  const live = [...group.instances].filter(([, state]) => lifeOf(state) === 'live');
  for (const [instance] of live)
    if (!registered.has(instance) && !isOrphan(bed, instance)) bed.addNode({ grow: false, instance });
  for (let at = live.length; at < group.desired; at++) bed.addNode({ grow: false });
}

/** A machine whose node has been deleted registers no other. */
function isOrphan(bed: ScalerBed, instance: string): boolean {
  return bed.world.ledger.pendingDeletions.some((entry) => entry.instance === instance);
}

/** Machines that were going are gone, and the cloud's controller deletes their nodes; Agones and pod GC follow. */
function cleanUp(bed: ScalerBed): void {
  const { world } = bed;
  if (world.group) {
    const instances = new Map([...world.group.instances].filter(([, state]) => lifeOf(state) !== 'leaving'));
    world.group = { ...world.group, instances };
    for (const node of world.nodes.values()) {
      if (!instances.has(instanceOf(node) ?? '')) world.nodes.delete(node.name);
    }
  }
  for (const { name, nodeName } of world.servers.values()) {
    if (nodeName !== undefined && !world.nodes.has(nodeName)) bed.removeServer(name);
  }
}
