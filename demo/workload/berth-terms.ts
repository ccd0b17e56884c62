import type { NodeSpecInput } from '../../lib/nodes/node.ts';
import type { Resources } from '../../lib/nodes/resources.ts';
import type { PlanInput } from '../../lib/plans/plan.ts';
import type { TaskNeed, WorkloadNode } from './workload.ts';
import { isShare, WHOLE_GPU } from './workload.ts';

/**
 * A workload in Berth's terms. Each GPU is both a resource `gpu-milli/<n>` of 1000, of which shares take a part, and a
 * device `gpu/<n>`. A task of whole GPUs takes the device and all 1000 of its resource, so that no share and no whole
 * task ever meet on one GPU.
 */

/** Label of a node that holds the model of its GPUs. */
export const MODEL_LABEL = 'model';

export type PlacementInput = NonNullable<PlanInput['placements']>[number];

export function gpuResource(gpu: number): string {
  return `gpu-milli/${gpu}`;
}

export function gpuDevice(gpu: number): string {
  return `gpu/${gpu}`;
}

export function nodeSpecOf(node: WorkloadNode, pool: string): NodeSpecInput {
  const gpus = Array.from({ length: node.gpus }, (_, gpu) => gpu);
  return {
    nodeId: node.name,
    pool,
    capacity: amountsOf(node.cpuMilli, node.memoryMib, gpus, WHOLE_GPU),
    devices: gpus.map((gpu) => ({ id: gpuDevice(gpu), healthy: true })),
    labels: node.model === '' ? {} : { [MODEL_LABEL]: node.model },
  };
}

/** What the task takes when it is given these GPUs of a node. */
export function takenBy(need: TaskNeed, gpus: readonly number[]): Pick<PlacementInput, 'resources' | 'devices'> {
  return {
    resources: amountsOf(need.cpuMilli, need.memoryMib, gpus, need.gpuMilli),
    devices: isShare(need) ? [] : gpus.map(gpuDevice),
  };
}

function amountsOf(cpu: number, memory: number, gpus: readonly number[], gpuMilli: number): Resources {
  return { cpu, memory, ...Object.fromEntries(gpus.map((gpu) => [gpuResource(gpu), gpuMilli])) };
}
