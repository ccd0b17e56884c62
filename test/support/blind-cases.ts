import type { TaskId } from '../../lib/ids.ts';
import type { Account } from '../../lib/nodes/account.ts';
import type { BlindChange, BlindClaim } from '../../lib/nodes/blind.ts';
import type { ClaimKey } from '../../lib/nodes/claims.ts';
import type { NodeSpecInput } from '../../lib/nodes/node.ts';

/** A change on conditions as plain data. */
export interface PlainChange {
  readonly demand?: BlindChange['demand'];
  readonly net?: Readonly<Record<string, number>>;
  readonly need?: Readonly<Record<string, number>>;
  readonly named?: BlindChange['named'];
  readonly claims?: Readonly<Record<string, BlindClaim>>;
  readonly joins?: Readonly<Record<string, readonly string[]>>;
  readonly leaves?: Readonly<Record<string, readonly string[]>>;
}

export interface BlindCase {
  readonly name: string;
  /** The node, where it differs from a ready one with 4 of `cpu` and 8 of `memory`. */
  readonly node?: Partial<NodeSpecInput>;
  readonly holds?: (account: Account) => Account;
  readonly change: PlainChange;
  /** What is different afterwards, null for what must be gone. */
  readonly after: 'refused' | PlainAccount;
}

interface PlainAccount {
  readonly free?: Readonly<Record<string, number | null>>;
  readonly claims?: Readonly<Record<string, string | null>>;
  readonly sharers?: Readonly<Record<string, readonly string[] | null>>;
}

export function change({ demand = 'there', net, need, named, claims, joins, leaves }: PlainChange): BlindChange {
  const sets = (tasks: Readonly<Record<string, readonly string[]>> = {}) =>
    new Map(Object.entries(tasks).map(([key, list]) => [key as ClaimKey, new Set(list as TaskId[])]));
  return {
    demand,
    net: new Map(Object.entries(net ?? {})),
    need: new Map(Object.entries(need ?? {})),
    named: named ?? { net: 0 },
    claims: new Map(Object.entries(claims ?? {}) as [ClaimKey, BlindClaim][]),
    joins: sets(joins),
    leaves: sets(leaves),
  };
}

const A = 'a' as TaskId;
const B = 'b' as TaskId;
const take: BlindClaim = { op: 'take', task: A };
const release: BlindClaim = { op: 'release', task: A };
const pass: BlindClaim = { op: 'pass', from: B, task: A };

const holding =
  (claims: Readonly<Record<string, string>>, sharers: Readonly<Record<string, readonly string[]>> = {}) =>
  (account: Account): Account => ({
    ...account,
    claims: new Map([...account.claims, ...(Object.entries(claims) as [ClaimKey, string][])]),
    sharers: new Map(Object.entries(sharers).map(([key, tasks]) => [key as ClaimKey, new Set(tasks as TaskId[])])),
  });

const demands: BlindCase[] = [
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

const resources: BlindCase[] = [
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

const listed: BlindCase[] = (['core/1', 'device/d/0'] as const).flatMap((key): BlindCase[] => {
  const node = { cores: [1], devices: [{ id: 'd/0' }] };
  return [
    { name: `takes a free ${key}`, node, change: { claims: { [key]: take } }, after: { claims: { [key]: A } } },
    {
      name: `is refused a held ${key}`,
      node,
      holds: holding({ [key]: B }),
      change: { claims: { [key]: take } },
      after: 'refused',
    },
    { name: `is refused a ${key} that the node does not list`, change: { claims: { [key]: take } }, after: 'refused' },
    {
      name: `is refused a ${key} that is withdrawn`,
      node,
      holds: withdrawing(key),
      change: { claims: { [key]: take } },
      after: 'refused',
    },
    {
      name: `gives a ${key} back`,
      node,
      holds: holding({ [key]: A }),
      change: { claims: { [key]: release } },
      after: { claims: { [key]: '!free' } },
    },
    {
      name: `is refused to give back the ${key} of another`,
      node,
      holds: holding({ [key]: B }),
      change: { claims: { [key]: release } },
      after: 'refused',
    },
    {
      name: `is refused to give back a ${key} that is free`,
      node,
      change: { claims: { [key]: release } },
      after: 'refused',
    },
    {
      name: `passes a ${key} on`,
      node,
      holds: holding({ [key]: B }),
      change: { claims: { [key]: pass } },
      after: { claims: { [key]: A } },
    },
    {
      name: `is refused to pass on a ${key} that another holds`,
      node,
      holds: holding({ [key]: 'c' }),
      change: { claims: { [key]: pass } },
      after: 'refused',
    },
    {
      name: `is refused to pass on a ${key} that is free`,
      node,
      change: { claims: { [key]: pass } },
      after: 'refused',
    },
    {
      name: `is refused to pass on a ${key} that is withdrawn`,
      node,
      holds: (account) => withdrawing(key)(holding({ [key]: B })(account)),
      change: { claims: { [key]: pass } },
      after: 'refused',
    },
  ];
});

const PORT = 'port/10.0.0.5/80';
const ports: BlindCase[] = [
  { name: 'takes a port', change: { claims: { [PORT]: take } }, after: { claims: { [PORT]: A } } },
  {
    name: 'takes the port of another address',
    holds: holding({ 'port/10.0.0.6/80': B }),
    change: { claims: { [PORT]: take } },
    after: { claims: { [PORT]: A } },
  },
  {
    name: 'is refused a held port',
    holds: holding({ [PORT]: B }),
    change: { claims: { [PORT]: take } },
    after: 'refused',
  },
  {
    name: 'is refused a port that is reserved on every address',
    node: { reservedPorts: '22,80' },
    change: { claims: { [PORT]: take } },
    after: 'refused',
  },
  {
    name: 'is refused a port that is reserved on its address',
    node: { addresses: [{ ip: '10.0.0.5', reservedPorts: '80' }] },
    change: { claims: { [PORT]: take } },
    after: 'refused',
  },
  {
    name: 'takes a port that is reserved on another address',
    node: { addresses: [{ ip: '10.0.0.6', reservedPorts: '80' }] },
    change: { claims: { [PORT]: take } },
    after: { claims: { [PORT]: A } },
  },
  {
    name: 'is refused any port where reservations are too wide for keys',
    node: { reservedPorts: '1000-1100' },
    change: { claims: { [PORT]: take } },
    after: 'refused',
  },
  {
    name: 'is refused to pass on any port where reservations are too wide for keys',
    node: { reservedPorts: '1000-1100' },
    holds: holding({ [PORT]: B }),
    change: { claims: { [PORT]: pass } },
    after: 'refused',
  },
  {
    name: 'takes what is no port where reservations are wide',
    node: { reservedPorts: '1000-1100', cores: [1] },
    change: { claims: { 'core/1': take } },
    after: { claims: { 'core/1': A } },
  },
  {
    name: 'gives a port back',
    holds: holding({ [PORT]: A }),
    change: { claims: { [PORT]: release } },
    after: { claims: { [PORT]: null } },
  },
  {
    name: 'gives a port back where reservations are wide',
    node: { reservedPorts: '1000-1100' },
    holds: holding({ [PORT]: A }),
    change: { claims: { [PORT]: release } },
    after: { claims: { [PORT]: null } },
  },
  {
    name: 'is refused to give back the port of another',
    holds: holding({ [PORT]: B }),
    change: { claims: { [PORT]: release } },
    after: 'refused',
  },
  {
    name: 'is refused to give back a port that nobody holds',
    change: { claims: { [PORT]: release } },
    after: 'refused',
  },
  {
    name: 'passes a port on',
    holds: holding({ [PORT]: B }),
    change: { claims: { [PORT]: pass } },
    after: { claims: { [PORT]: A } },
  },
  { name: 'is refused to pass on a port that nobody holds', change: { claims: { [PORT]: pass } }, after: 'refused' },
  {
    name: 'is refused to pass on a port that has been reserved since',
    node: { reservedPorts: '80' },
    holds: holding({ [PORT]: B }),
    change: { claims: { [PORT]: pass } },
    after: 'refused',
  },
  {
    name: 'is refused a port that another shares',
    holds: holding({}, { [PORT]: ['b'] }),
    change: { claims: { [PORT]: take } },
    after: 'refused',
  },
  {
    name: 'is refused to pass on a port that another shares',
    holds: holding({ [PORT]: B }, { [PORT]: ['c'] }),
    change: { claims: { [PORT]: pass } },
    after: 'refused',
  },
  {
    name: 'gives a port back that another goes on sharing',
    holds: holding({ [PORT]: A }, { [PORT]: ['b'] }),
    change: { claims: { [PORT]: release } },
    after: { claims: { [PORT]: null } },
  },
  {
    name: 'shares a port that nobody holds',
    change: { joins: { [PORT]: ['a', 'b'] } },
    after: { sharers: { [PORT]: ['a', 'b'] } },
  },
  {
    name: 'shares a port beside its holder and those who share it',
    holds: holding({ [PORT]: B }, { [PORT]: ['c'] }),
    change: { joins: { [PORT]: ['a'] } },
    after: { sharers: { [PORT]: ['a', 'c'] } },
  },
  {
    name: 'shares a port that the node reserves',
    node: { reservedPorts: '80,1000-1100' },
    change: { joins: { [PORT]: ['a'] } },
    after: { sharers: { [PORT]: ['a'] } },
  },
  {
    name: 'leaves a port to its holder and those who still share it',
    holds: holding({ [PORT]: B }, { [PORT]: ['a', 'c', 'd'] }),
    change: { leaves: { [PORT]: ['a', 'd'] } },
    after: { sharers: { [PORT]: ['c'] } },
  },
  {
    name: 'leaves a port that nobody shares afterwards',
    holds: holding({}, { [PORT]: ['a'] }),
    change: { leaves: { [PORT]: ['a'] } },
    after: { sharers: { [PORT]: null } },
  },
  {
    name: 'is refused to leave a port of which it is the holder',
    holds: holding({ [PORT]: A }),
    change: { leaves: { [PORT]: ['a'] } },
    after: 'refused',
  },
  {
    name: 'is refused to leave a port that one of two does not share',
    holds: holding({}, { [PORT]: ['a', 'c'] }),
    change: { leaves: { [PORT]: ['a', 'b'] } },
    after: 'refused',
  },
];

const VOLUME = 'volume/data';
const volumes: BlindCase[] = [
  { name: 'takes a volume alone', change: { claims: { [VOLUME]: take } }, after: { claims: { [VOLUME]: A } } },
  {
    name: 'is refused a volume that another holds alone',
    holds: holding({ [VOLUME]: B }),
    change: { claims: { [VOLUME]: take } },
    after: 'refused',
  },
  {
    name: 'is refused to hold alone what others share',
    holds: holding({}, { [VOLUME]: ['b'] }),
    change: { claims: { [VOLUME]: take } },
    after: 'refused',
  },
  {
    name: 'gives a volume back',
    holds: holding({ [VOLUME]: A }),
    change: { claims: { [VOLUME]: release } },
    after: { claims: { [VOLUME]: null } },
  },
  {
    name: 'shares a volume that nobody holds',
    change: { joins: { [VOLUME]: ['a', 'b'] } },
    after: { sharers: { [VOLUME]: ['a', 'b'] } },
  },
  {
    name: 'joins those who share a volume',
    holds: holding({}, { [VOLUME]: ['b'] }),
    change: { joins: { [VOLUME]: ['a'] } },
    after: { sharers: { [VOLUME]: ['a', 'b'] } },
  },
  {
    name: 'is refused to share what another holds alone',
    holds: holding({ [VOLUME]: B }),
    change: { joins: { [VOLUME]: ['a'] } },
    after: 'refused',
  },
  {
    name: 'leaves a volume to those who still share it',
    holds: holding({}, { [VOLUME]: ['a', 'b'] }),
    change: { leaves: { [VOLUME]: ['a'] } },
    after: { sharers: { [VOLUME]: ['b'] } },
  },
  {
    name: 'leaves a volume that nobody shares afterwards',
    holds: holding({}, { [VOLUME]: ['a', 'b'] }),
    change: { leaves: { [VOLUME]: ['a', 'b'] } },
    after: { sharers: { [VOLUME]: null } },
  },
];

/** Of the bytes for ports and volumes, `left` are free: the rest goes to one that `b` holds, and one that two share. */
const MOST = 96 * 1024;
const crowded = (left: number) => {
  const shared = 'volume/s';
  const bytes = MOST - left - 2 * (shared.length + 1 + 3);
  const name = (at: number, length: number) => `volume/${`${at}`.padStart(length - 'volume/'.length - 1 - 3, 'v')}`;
  const long = Array.from({ length: Math.floor(bytes / 1000) }, (_, at) =>
    name(at, at === 0 ? 1000 + (bytes % 1000) : 1000),
  );
  return holding(Object.fromEntries(long.map((key) => [key, B])), { [shared]: ['c', 'd'] });
};
const named: BlindCase[] = [
  {
    name: 'takes as much room for names as there is',
    holds: crowded(20),
    change: { named: { net: 20, need: 20 }, claims: { [PORT]: take } },
    after: { claims: { [PORT]: A } },
  },
  {
    name: 'is refused a byte more for names than there is',
    holds: crowded(19),
    change: { named: { net: 20, need: 20 }, claims: { [PORT]: take } },
    after: 'refused',
  },
  {
    name: 'is refused the room for names that only comes free afterwards',
    holds: crowded(19),
    change: { named: { net: 0, need: 20 } },
    after: 'refused',
  },
  {
    name: 'takes the room for names that it gives back first',
    holds: (account) => holding({ [PORT]: B }, { 'volume/s': ['c', 'd'] })(crowded(20)(account)),
    change: { named: { net: 0, need: 0 }, claims: { [PORT]: pass } },
    after: { claims: { [PORT]: A } },
  },
  {
    name: 'gives back room for names where there is less than none',
    holds: (account) => holding({ [PORT]: A }, { 'volume/s': ['c', 'd'] })(crowded(0)(account)),
    change: { named: { net: -20 }, claims: { [PORT]: release } },
    after: { claims: { [PORT]: null } },
  },
];

function withdrawing(key: string) {
  return (account: Account): Account => ({ ...account, withdrawn: new Set([...account.withdrawn, key as ClaimKey]) });
}

/** Every kind of condition, one by one. */
export const BLIND_CASES: readonly BlindCase[] = [...demands, ...resources, ...listed, ...ports, ...volumes, ...named];
