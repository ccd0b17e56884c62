import { describe, expect, it } from 'vitest';
import { itemBytes } from '../../test/support/item-size.ts';
import { nodeOf } from '../../test/support/plans.ts';
import type { NodeId, TaskId } from '../ids.ts';
import { accountOf, type Exchange, exchanged, type Holding, namedBytesOf } from '../nodes/account.ts';
import { type BlindChange, blindly } from '../nodes/blind.ts';
import { type Claim, claimsOf } from '../nodes/claims.ts';
import type { NodeSpecInput } from '../nodes/node.ts';
import { BOUNDS, PLATFORM } from '../settings.ts';
import { accountItem } from './account-item.ts';
import { blindUpdate } from './account-update.ts';
import { marshall } from './dynamo.ts';

/** Limits of an expression (developer guide, "Service, account, and table quotas"). */
const EXPRESSION_BYTES = 4_096;
const OPERATORS = 300;
const NAME_OR_VALUE_BYTES = 255;

const LONG_TASK = 't'.repeat(BOUNDS.idLength) as TaskId;
const nothing = { cores: [], devices: [], ports: [], volumes: [] };

function holding(taskId: TaskId, claims: readonly Claim[], resources: Record<string, number> = {}): Holding {
  return { taskId, resources, claims };
}

/** As many of what `claims(n)` claims as a change takes: the largest number that `blindly` does not decline. */
function largest(exchangeOf: (count: number) => Exchange): BlindChange {
  let change: BlindChange | undefined;
  for (let count = 1; count <= 1_000; count++) {
    const next = blindly(undefined, exchangeOf(count), 'schedulable');
    if (!next) break;
    change = next;
  }
  if (!change) throw new Error('not even one fits');
  return change;
}

const range = (count: number) => Array.from({ length: count }, (_, at) => at);
const ports = (count: number, ignoreCollision = false) =>
  claimsOf({
    ...nothing,
    ports: range(count).map((at) => ({ ip: '2001:db8::1', value: 60_000 + at, label: '', ignoreCollision })),
  });
const volumes = (count: number, mode: 'single-writer' | 'multi-writer') =>
  claimsOf({ ...nothing, volumes: range(count).map((at) => ({ source: `${'v'.repeat(100)}${at}`, mode })) });
const cores = (count: number) => claimsOf({ ...nothing, cores: range(count) });
const amounts = (count: number) =>
  Object.fromEntries(
    range(count).map((at) => [`${'r'.repeat(BOUNDS.resourceNameLength - 3)}${at}`, Number.MAX_SAFE_INTEGER]),
  );

const HOLDER = 'b' as TaskId;
const resources = largest((count) => ({ gives: [], takes: [holding(LONG_TASK, [], amounts(count))] })).net.size;
/** Every kind of claim, as many as fit, beside as many resources as fit. */
const CHANGES: readonly (readonly [string, (count: number) => Exchange])[] = [
  ['ports that are taken', (count) => ({ gives: [], takes: [holding(LONG_TASK, ports(count), amounts(resources))] })],
  [
    'ports that are passed on',
    (count) => ({
      gives: [holding(HOLDER, ports(count))],
      takes: [holding(LONG_TASK, ports(count), amounts(resources))],
    }),
  ],
  [
    'ports that are given back',
    (count) => ({ gives: [holding(LONG_TASK, ports(count), amounts(resources))], takes: [] }),
  ],
  [
    'ports that are shared',
    (count) => ({ gives: [], takes: [holding(LONG_TASK, ports(count, true), amounts(resources))] }),
  ],
  [
    'ports that are shared no more',
    (count) => ({ gives: [holding(LONG_TASK, ports(count, true), amounts(resources))], takes: [] }),
  ],
  [
    'a port that many share no more',
    (count) => ({
      gives: range(count).map((at) =>
        holding(`${'t'.repeat(125)}${at}` as TaskId, ports(1, true), at === 0 ? amounts(resources) : {}),
      ),
      takes: [],
    }),
  ],
  [
    'cores that are passed on',
    (count) => ({
      gives: [holding(HOLDER, cores(count))],
      takes: [holding(LONG_TASK, cores(count), amounts(resources))],
    }),
  ],
  [
    'volumes that are taken',
    (count) => ({ gives: [], takes: [holding(LONG_TASK, volumes(count, 'single-writer'), amounts(resources))] }),
  ],
  [
    'volumes that are shared',
    (count) => ({ gives: [], takes: [holding(LONG_TASK, volumes(count, 'multi-writer'), amounts(resources))] }),
  ],
  [
    'volumes that are left',
    (count) => ({ gives: [holding(LONG_TASK, volumes(count, 'multi-writer'), amounts(resources))], takes: [] }),
  ],
];

/** Functions, comparisons, arithmetic and connectives. */
function operatorsIn(expression: string): number {
  return (expression.match(/\w+\(|>=|<=|=|<|>| [+-] |\bAND\b|\bOR\b|\bNOT\b/g) ?? []).length;
}

describe('the longest change on conditions', () => {
  it.each(CHANGES)('of %s stays below the limits of an expression', (_name, exchangeOf) => {
    const change = largest(exchangeOf);
    // Enough for a task of an ordinary kind: eight devices, a few ports, a few volumes.
    const leaving = [...change.leaves.values()].reduce((sum, tasks) => sum + tasks.size, 0);
    expect(change.claims.size + change.joins.size + leaving).toBeGreaterThanOrEqual(16);
    const { UpdateExpression, ConditionExpression, names, values } = blindUpdate(change, Number.MAX_SAFE_INTEGER);
    for (const expression of [UpdateExpression, ConditionExpression]) {
      expect(Buffer.byteLength(expression)).toBeLessThan(EXPRESSION_BYTES);
      expect(operatorsIn(expression)).toBeLessThan(OPERATORS);
    }
    for (const name of [...Object.keys(names), ...Object.values(names), ...Object.keys(values)]) {
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(NAME_OR_VALUE_BYTES);
    }
  });

  it.each(CHANGES)('of %s names what it uses and uses what it names', (_name, exchangeOf) => {
    const { UpdateExpression, ConditionExpression, names, values } = blindUpdate(largest(exchangeOf), 7);
    const used = new Set(`${UpdateExpression} ${ConditionExpression}`.match(/[#:]\w+/g));
    expect([...used].sort()).toEqual([...Object.keys(names), ...Object.keys(values)].sort());
  });
});

describe('the account of a node that holds as much as it may', () => {
  const id = (at: number) => `${'t'.repeat(BOUNDS.idLength - 4)}${1000 + at}` as TaskId;
  const name = (length: number) => (at: number) => `${'n'.repeat(length - 4)}${1000 + at}`;

  it.each([
    [
      'volumes that one task has',
      (at: number) => [{ source: name(BOUNDS.idLength)(at), mode: 'single-writer' as const }],
    ],
    ['volumes of few letters', (at: number) => [{ source: `${at}`, mode: 'reader-only' as const }]],
    ['one volume', () => [{ source: 'v', mode: 'reader-only' as const }]],
  ])('fits an item, with %s', (_what, volumesOf) => {
    const reservedPorts = range(250)
      .map((at) => 2 * at)
      .join(',');
    const devices = range(BOUNDS.devicesPerNode).map((at) => ({ id: name(BOUNDS.idLength)(at), healthy: false }));
    const node = nodeOf({
      ...{ nodeId: name(BOUNDS.idLength)(0), pool: name(BOUNDS.idLength)(1), devices, reservedPorts },
      capacity: Object.fromEntries(
        range(BOUNDS.resourcesPerNode).map((at) => [name(BOUNDS.resourceNameLength)(at), Number.MAX_SAFE_INTEGER]),
      ),
      cores: range(BOUNDS.coresPerNode),
      addresses: range(BOUNDS.addressesPerNode).map((at) => ({ ip: name(45)(at), reservedPorts })),
    });
    const listed = claimsOf({ ...nothing, cores: node.cores, devices: devices.map((device) => device.id) });
    const takes = listed.map((claim, at) => holding(id(at), [claim]));
    let bytes = 0;
    for (let at = 0; ; at++) {
      const next = holding(id(at), claimsOf({ ...nothing, volumes: volumesOf(at) }));
      bytes += namedBytesOf(next);
      if (bytes > BOUNDS.namedClaimBytesPerNode) break;
      takes.push(next);
    }
    const account = { ...exchanged(accountOf(node), { gives: [], takes }), index: 2 ** 40, version: 2 ** 40 };
    expect(
      itemBytes(marshall(accountItem({ poolShard: `${node.pool}#63`, nodeId: node.nodeId as NodeId }, account))),
    ).toBeLessThan(PLATFORM.itemBytes);
  });
});

describe('the account of an ordinary node', () => {
  const KIB = 1_024;
  /** Bytes of the account of a node with everything that it lists held by tasks. */
  const bytesOf = (
    spec: Partial<NodeSpecInput>,
    taskIds: (at: number) => string,
    more: Partial<Parameters<typeof claimsOf>[0]> = {},
  ) => {
    const node = nodeOf({ nodeId: 'openb-node-1234', pool: 'production', capacity: {}, ...spec });
    const takes = node.devices.map(({ id }, at) =>
      holding(taskIds(at) as TaskId, claimsOf({ ...nothing, devices: [id], ...(at === 0 ? more : {}) }), {
        cpu: 12_000,
        memory: 98_304,
        'max-tasks': 1,
        [`gpu-milli/${at}`]: 1_000,
      }),
    );
    const account = { ...exchanged(accountOf(node), { gives: [], takes }), index: 12_345_678, version: 1_234_567 };
    return itemBytes(marshall(accountItem({ poolShard: 'production#7', nodeId: node.nodeId as NodeId }, account)));
  };
  const ulid = (at: number) => `01JD3C5XQ4ZV8Y7M2N6P9RTBK${at}`;

  it('with eight GPUs, all held, two ports and a volume is below one write unit', () => {
    const devices = range(8).map((at) => ({ id: `nvidia/gpu/a100/gpu-${at}` }));
    const capacity = { cpu: 128_000, memory: 1_048_576, disk: 3_840_000 };
    const claims = {
      ports: [8080, 9090].map((value) => ({ ip: '10.0.0.5', value, label: '', ignoreCollision: false })),
      volumes: [{ source: 'data', mode: 'single-writer' as const }],
    };
    expect(bytesOf({ capacity, devices, reservedPorts: '22' }, ulid, claims)).toBeLessThan(KIB);
  });

  it('of the openb trace, with eight GPUs in shares as well, is below one write unit', () => {
    const devices = range(8).map((at) => ({ id: `gpu/${at}` }));
    const shares = Object.fromEntries(range(8).map((at) => [`gpu-milli/${at}`, 1_000]));
    const capacity = { cpu: 128_000, memory: 1_048_576, ...shares };
    expect(bytesOf({ capacity, devices }, (at) => `openb-pod-123${at}`)).toBeLessThan(KIB);
    expect(bytesOf({ capacity, devices }, ulid)).toBeLessThan(KIB);
  });
});
