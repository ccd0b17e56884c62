import { expect, it } from 'vitest';
import type { NodeRegistry } from '../../lib/scaler/ports.ts';
import { readRegistry, withEligibility } from '../../lib/scaler/registration/registration-read.ts';
import { BERTH_LABELS } from '../../lib/scaler/registration/registration-spec.ts';
import { MemoryRegistry } from './memory-registry.ts';
import { aGroup, aNode, aSnapshot, aSpec } from './plain.ts';

const berth = (pool: string, fields: object = {}) => aSpec({ config: { nodegroup: 'games', pool }, ...fields });

it('Berth is asked once, for the nodes that may be of each pool', async () => {
  const asked: unknown[] = [];
  const registry: NodeRegistry = Object.assign(new MemoryRegistry('eu'), {
    read: async (nodes: ReadonlyMap<string, readonly string[]>) => {
      asked.push(Object.fromEntries(nodes));
      return new Map();
    },
  });
  const nodes = [
    ...[aNode('n1'), aNode('n2', { labels: {} }), aNode('n3')],
    aNode('n4', { labels: { 'eks.amazonaws.com/nodegroup': 'web' } }),
  ];
  const hook = { provider: 'custom', config: { pool: 'us', nodeSelector: 'eks.amazonaws.com/nodegroup=web' } };
  const grpcHook = { address: 'a:1', caBundle: 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t' };
  const view = await readRegistry(
    registry,
    [
      // n3 claims to be of the group, which may have it by the next look; n2 is of it by its machine.
      { spec: berth('eu'), group: aGroup(['n1', 'n2']) },
      { spec: aSpec({ ...hook, grpcHook }), group: undefined },
      { spec: aSpec(), group: aGroup([]) },
    ],
    aSnapshot({ nodes }),
  );
  expect(asked).toEqual([{ eu: ['n1', 'n2', 'n3'], us: ['n4'] }]);
  expect([...(view?.asked.get('us') ?? [])]).toEqual(['n4']);
});

it('Berth is not asked where no object names a pool of it, or nobody can ask', async () => {
  const registry = new MemoryRegistry('eu');
  const named = [{ spec: berth('eu'), group: aGroup(['n1']) }];
  expect(await readRegistry(registry, [{ spec: aSpec(), group: aGroup([]) }], aSnapshot())).toBeUndefined();
  expect(await readRegistry(undefined, named, aSnapshot())).toBeUndefined();
  expect(registry.takeCalls()).toEqual([]);
});

it('a node is ineligible that Berth has as that, being the same machine', async () => {
  const registry = new MemoryRegistry('eu');
  const state = { status: 'ready', drain: false, ineligible: true, revision: 1, tasks: 0, capacity: {} } as const;
  for (const nodeId of ['n1', 'n2']) {
    registry.nodesOf('eu').set(nodeId, { ...state, nodeId, labels: { [BERTH_LABELS.instance]: 'i-1' } });
  }
  registry
    .nodesOf('eu')
    .set('n3', { ...state, nodeId: 'n3', ineligible: false, labels: { [BERTH_LABELS.instance]: 'i-3' } });
  const snapshot = aSnapshot({ nodes: [aNode('n1'), aNode('n2'), aNode('n3'), aNode('n4')] });
  const group = aGroup(['n1', 'n2', 'n3', 'n4']);
  const view = await readRegistry(registry, [{ spec: berth('eu'), group }], snapshot);
  const ineligible = withEligibility(snapshot, berth('eu'), view).nodes.map((node) => node.ineligible);
  expect(ineligible).toEqual([true, false, false, false]);
  expect(withEligibility(snapshot, berth('us'), view)).toBe(snapshot);
});
