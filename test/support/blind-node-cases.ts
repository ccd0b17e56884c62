import type { BlindCase } from './blind-case.ts';

/** What the node must be: there, ready, schedulable. */
export const DEMAND_CASES: readonly BlindCase[] = [
  {
    name: 'asks of a node that is down no more than that it is there',
    node: { status: 'down' },
    change: {},
    after: {},
  },
  { name: 'finds a node that is ready', node: { drain: true }, change: { demand: 'ready' }, after: {} },
  ...(['initializing', 'disconnected', 'down'] as const).flatMap((status): BlindCase[] => [
    {
      name: `is refused by a node that is ${status} and must be ready`,
      node: { status },
      change: { demand: 'ready' },
      after: 'refused',
    },
    {
      name: `is refused by a node that is ${status} and must be schedulable`,
      node: { status },
      change: { demand: 'schedulable' },
      after: 'refused',
    },
  ]),
  { name: 'finds a node schedulable', change: { demand: 'schedulable' }, after: {} },
  {
    name: 'is refused by a node that is not eligible',
    node: { eligibility: 'ineligible' },
    change: { demand: 'schedulable' },
    after: 'refused',
  },
  {
    name: 'is refused by a node that drains',
    node: { drain: true },
    change: { demand: 'schedulable' },
    after: 'refused',
  },
];

/** Resources taken and given back. */
export const RESOURCE_CASES: readonly BlindCase[] = [
  { name: 'takes the last of a resource', change: { net: { cpu: 4 }, need: { cpu: 4 } }, after: { free: { cpu: 0 } } },
  { name: 'is refused one more than there is', change: { net: { cpu: 5 }, need: { cpu: 5 } }, after: 'refused' },
  {
    name: 'is refused if one resource of two is short',
    change: { net: { cpu: 1, memory: 9 }, need: { cpu: 1, memory: 9 } },
    after: 'refused',
  },
  {
    name: 'is refused a resource that the node does not have',
    change: { net: { gpu: 1 }, need: { gpu: 1 } },
    after: 'refused',
  },
  {
    name: 'is refused the room that only comes free afterwards',
    change: { net: { cpu: -1 }, need: { cpu: 5 } },
    after: 'refused',
  },
  {
    name: 'takes what it gives back first',
    change: { net: { cpu: 3 }, need: { cpu: 3 } },
    after: { free: { cpu: 1 } },
  },
  {
    name: 'gives back to a node that has less than nothing left',
    holds: (account) => ({ ...account, free: { ...account.free, cpu: -3 } }),
    change: { net: { cpu: -2 } },
    after: { free: { cpu: -1 } },
  },
  {
    name: 'takes, after giving back more, from a node that has less than nothing left',
    holds: (account) => ({ ...account, free: { ...account.free, cpu: -3 } }),
    change: { net: { cpu: -2 }, need: { cpu: -3 } },
    after: { free: { cpu: -1 } },
  },
  {
    name: 'is refused what giving back does not cover',
    holds: (account) => ({ ...account, free: { ...account.free, cpu: -3 } }),
    change: { net: { cpu: -1 }, need: { cpu: -2 } },
    after: 'refused',
  },
  {
    name: 'gives back a resource that the node has no more',
    holds: (account) => ({ ...account, free: { ...account.free, gpu: -2 } }),
    change: { net: { gpu: -2 } },
    after: { free: { gpu: null } },
  },
  { name: 'needs, and takes nothing in the end', change: { net: { cpu: 0 }, need: { cpu: 4 } }, after: {} },
  {
    name: 'names a resource that is a word of the database',
    node: { capacity: { size: 2, 'a.b/c': 1 } },
    change: { net: { size: 1, 'a.b/c': 1 }, need: { size: 1, 'a.b/c': 1 } },
    after: { free: { size: 1, 'a.b/c': 0 } },
  },
];
