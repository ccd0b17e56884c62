import type { NodeSpecInput } from '../../lib/nodes/node.ts';
import type { PlanInput } from '../../lib/plans/plan.ts';
import type { History } from './histories.ts';
import { nodeOf } from './plans.ts';

type Placement = NonNullable<PlanInput['placements']>[number];

/**
 * A queue of two batches in which everything happens that plans can do: taking and passing on ports, cores, devices and
 * volumes, refusals, a node that is refused until it is ineligible, all or nothing, updates in place, plans past one
 * transaction. `pool` is part of every id, so that scenes share a database.
 */
export function scene(
  pool: string,
  { faults = [], appliers = [10] }: Partial<Pick<History, 'faults'>> & { appliers?: number[] } = {},
): History {
  const node = (nodeId: string, spec: Partial<NodeSpecInput> = {}) =>
    nodeOf({ nodeId, pool, capacity: { cpu: 4000, memory: 8192 }, addresses: [{ ip: '10.0.0.1' }], ...spec });
  const place = (name: string, nodeId: string, wants: Partial<Placement> = {}) => ({ ...ref(name, nodeId), ...wants });
  const ref = (name: string, nodeId: string) => ({
    ...{ taskId: `${pool}-${name}`, serviceId: `${pool}-web`, nodeId },
    slot: Number.parseInt(name, 36),
  });
  const many = (count: number, prefix: string, on: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => place(`${prefix}${at}`, on(at), { resources: { cpu: 1 } }));
  let number = 0;
  const plan = (rest: Partial<PlanInput>): PlanInput => ({ planId: `${pool}-plan-${++number}`, pool, ...rest });
  const http = { ip: '10.0.0.1', value: 80 };

  return {
    pool,
    nodes: [
      node('n1', { cores: [0, 1] }),
      node('n2', { devices: [{ id: 'd0' }, { id: 'd1' }], reservedPorts: '22' }),
      node('n3', { eligibility: 'ineligible' }),
      node('n4', { maxTasks: 1 }),
      node('n5', { capacity: { cpu: 40_000 } }),
      node('n6', { capacity: { cpu: 40_000 } }),
    ],
    batches: [
      {
        plans: [
          plan({
            placements: [
              place('a', 'n1', { resources: { cpu: 1000 }, ports: [http], cores: [0] }),
              place('b', 'n2', { devices: ['d0'], volumes: [{ source: 'data', mode: 'single-writer' }] }),
            ],
          }),
          plan({
            placements: [
              place('c', 'n1', { resources: { cpu: 4000 } }),
              place('d', 'n2', { ports: [http], volumes: [{ source: 'logs', mode: 'multi-writer' }] }),
            ],
          }),
          plan({
            stops: [ref('a', 'n1')],
            placements: [place('e', 'n1', { resources: { cpu: 4000 }, ports: [http], cores: [0, 1] })],
          }),
          plan({ allAtOnce: true, placements: [place('f', 'n2'), place('g', 'n3')] }),
        ],
        appliers,
        again: false,
        others: [],
      },
      {
        plans: [
          plan({
            placements: [place('b', 'n2', { devices: ['d1'], volumes: [{ source: 'data', mode: 'multi-writer' }] })],
            preemptions: [{ ...ref('d', 'n2'), preemptedBy: `${pool}-e` }],
          }),
          plan({ placements: [place('h', 'n4'), place('i', 'n4')] }),
          plan({ placements: [place('h', 'n4')], stops: [ref('z', 'n9')] }),
          plan({ placements: [place('j', 'n4')] }),
          plan({ placements: [place('k', 'n4')] }),
          plan({ placements: [...many(7, 'm', () => 'n5'), ...many(5, 'n', () => 'n6'), place('o', 'n3')] }),
          plan({
            allAtOnce: true,
            stops: [ref('m0', 'n5')],
            placements: [place('m1', 'n5', { resources: { cpu: 0 } }), ...many(9, 'p', (at) => (at % 2 ? 'n5' : 'n6'))],
          }),
          plan({ stops: [ref('e', 'n1'), { ...ref('p0', 'n6'), desiredState: 'remove' }] }),
        ],
        appliers,
        again: false,
        others: [],
      },
    ],
    settings: { stopRelease: 'plan', threshold: 3, marks: 1 },
    allowance: 14,
    faults,
  };
}
