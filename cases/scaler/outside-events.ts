import type { ScalerCase } from './case.ts';
import { piece } from './events.ts';
import type { OutsideWorld } from './outside.ts';
import { at } from './scene.ts';
import type { ScalerEvent } from './steps.ts';

/** As `happen` of the pure way, to the simulated services; the spec as it is afterwards. Throws where an event is not known. */
export function happenOutside(event: ScalerEvent, world: OutsideWorld, spec: ScalerCase['spec']): ScalerCase['spec'] {
  const { event: kind, name = '', pod, id = '' } = event as ScalerEvent & { name?: string; pod?: string; id?: string };
  switch (kind) {
    case 'specChanged':
      return { ...spec, ...(event.spec as object) };
    case 'providerChanged':
      world.changeGroup(piece('provider', event));
      return spec;
    case 'instanceChanged':
      world.setInstance(id, String(event.state));
      return spec;
    case 'instanceGone':
      world.dropInstance(id);
      return spec;
    case 'nodeJoined':
      world.joinNode(piece('node', event), spec);
      return spec;
    case 'nodeChanged':
      world.addNode(piece('node', event), spec);
      return spec;
    case 'nodeGone':
      world.remove('nodes', String(event.node ?? name));
      return spec;
    case 'podAdded':
      world.addPod(piece('pod', event));
      return spec;
    case 'podGone':
      world.remove('pods', String(pod ?? name));
      return spec;
    case 'gameServerAdded': {
      const { metadata, status } = world.addServer(piece('gameServer', event));
      const { namespace = 'default' } = metadata;
      world.addPod({ name: metadata.name, namespace, node: status.nodeName ?? null });
      return spec;
    }
    case 'gameServerGone':
      world.remove('gameservers', name);
      return spec;
    case 'gameServerChanged': {
      const { state, node, deletionTimestamp } = event;
      world.changeServer(name, {
        ...(typeof state === 'string' ? { state } : {}),
        ...(typeof node === 'string' ? { node } : {}),
        ...(typeof deletionTimestamp === 'string' ? { deletedAt: at(deletionTimestamp) } : {}),
      });
      return spec;
    }
    default:
      throw new Error(`event ${kind} is not known`);
  }
}
