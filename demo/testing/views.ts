import { nodeSpecSchema } from '../../lib/nodes/node.ts';
import type { View } from '../worker/view.ts';
import { viewOf } from '../worker/view.ts';
import { nodeSpecOf } from '../workload/berth-terms.ts';
import type { WorkloadNode } from '../workload/workload.ts';

/** What a worker sees of nodes that nothing is on. */
export function emptyView(nodes: readonly WorkloadNode[]): View {
  return viewOf(
    nodes.map((node) => {
      const { nodeId, capacity, devices, labels } = nodeSpecSchema.parse(nodeSpecOf(node, 'demo'));
      const claims = new Map(devices.map(({ id }) => [`device/${id}`, '!free']));
      return { nodeId, schedulable: true, capacity, free: capacity, claims, withdrawn: new Set<string>(), labels };
    }),
  );
}
