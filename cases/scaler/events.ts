import type * as z from 'zod/mini';
import { shaped } from '../shape.ts';
import { EVENT_PIECES, type ScalerCase, type ScalerStep } from './case.ts';
import { addNode, addPod, addServer, groupOf, joinNode } from './scene.ts';
import type { ScalerWorld } from './world.ts';

type Event = Extract<ScalerStep, { event: string }>;

/** What happens to a world from outside between two ticks; the spec as it is afterwards. Throws where it is not known. */
export function happen(event: Event, world: ScalerWorld, spec: ScalerCase['spec']): ScalerCase['spec'] {
  const { event: kind, name, pod, id, ...rest } = event as Event & { name?: string; pod?: string; id?: string };
  switch (kind) {
    case 'specChanged':
      return { ...spec, ...(event.spec as object) };
    case 'providerChanged':
      world.group = groupOf(piece('provider', event), world.group);
      return spec;
    case 'instanceChanged':
      if (world.group) {
        const instances = new Map(world.group.instances).set(id ?? '', String(event.state));
        world.group = { ...world.group, instances };
      }
      return spec;
    case 'instanceGone':
      if (world.group) {
        const instances = new Map(world.group.instances);
        instances.delete(id ?? '');
        world.group = { ...world.group, instances };
      }
      return spec;
    case 'nodeJoined':
      joinNode(world, piece('node', event), spec);
      return spec;
    case 'nodeChanged':
      addNode(world, piece('node', event), spec);
      return spec;
    case 'nodeGone':
      world.nodes.delete(String(event.node ?? name));
      return spec;
    case 'podAdded':
      addPod(world, piece('pod', event));
      return spec;
    case 'podGone':
      remove(world.pods, pod ?? name);
      return spec;
    case 'gameServerAdded': {
      const { name: added, namespace, nodeName } = addServer(world, piece('gameServer', event));
      addPod(world, { name: added, namespace, node: nodeName ?? null });
      return spec;
    }
    case 'gameServerGone':
      remove(world.servers, name);
      return spec;
    case 'gameServerChanged':
      changeServer(world, name, rest);
      return spec;
    default:
      throw new Error(`event ${kind} is not known`);
  }
}

type Piece<K extends keyof typeof EVENT_PIECES> = z.output<(typeof EVENT_PIECES)[K]>;

/** The piece of `event` that describes what has changed. Throws where it is not of its shape. */
export function piece<K extends keyof typeof EVENT_PIECES>(kind: K, event: Event): Piece<K> {
  const outcome = shaped(EVENT_PIECES[kind], event[kind]);
  if ('problems' in outcome) throw new Error(`event ${event.event}: ${kind}: ${outcome.problems.join('; ')}`);
  return outcome.data as Piece<K>;
}

function changeServer(world: ScalerWorld, name: string | undefined, change: Record<string, unknown>): void {
  const found = [...world.servers].find(([, server]) => server.name === name);
  if (found === undefined) throw new Error(`there is no server ${name}`);
  const { deletionTimestamp, state, resourceVersion, node } = change;
  world.servers.set(found[0], {
    ...found[1],
    ...(typeof state === 'string' ? { state } : {}),
    ...(typeof node === 'string' ? { nodeName: node } : {}),
    ...(typeof deletionTimestamp === 'string' ? { deleting: true } : {}),
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : world.nextVersion(),
  });
}

/** Everything of that name, whatever its namespace. */
function remove<T extends { readonly name: string }>(map: Map<string, T>, name: string | undefined): void {
  for (const [key, one] of map) if (one.name === name) map.delete(key);
}
