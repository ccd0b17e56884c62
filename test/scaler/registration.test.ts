import { describe, expect, it } from 'vitest';
import { CallError } from '../../lib/scaler/call-error.ts';
import { BERTH_LABELS } from '../../lib/scaler/registration/registration-spec.ts';
import { OBJECT } from './bed.ts';
import type { MemoryRegistry } from './memory-registry.ts';
import { another, bedWith, registered, toldOf, untouched } from './registered-bed.ts';

/** Somebody else registers a node, or what is his own already. */
function registerAsAgent(registry: MemoryRegistry, name: string): void {
  const revision = registry.nextRevision();
  const labels = { rack: 'r1' };
  const node = { nodeId: name, capacity: { cpu: 7 }, labels, drain: false, ineligible: false, tasks: 1, revision };
  registry.nodesOf('eu').set(name, { ...node, status: 'ready' });
}

describe('a node that', () => {
  it('joins is registered with what it offers, whose it is, and as it is', async () => {
    const { bed, eu } = bedWith(2);
    bed.changeNode('n1', { allocatable: { cpu: '3920m', memory: '2Gi', pods: '58', 'nvidia.com/gpu': '1' } });
    bed.changeNode('n2', { ready: false, unschedulable: true });
    const outcome = await bed.tick(untouched);
    expect(eu.get('n1')).toMatchObject({
      capacity: { cpu: 3920, memory: 2048, pods: 58, 'nvidia.com/gpu': 1 },
      status: 'ready',
      drain: false,
      labels: {
        'eks.amazonaws.com/nodegroup': 'games',
        [BERTH_LABELS.registeredBy]: `prod/${OBJECT}`,
        [BERTH_LABELS.uid]: 'uid-n1',
        [BERTH_LABELS.instance]: 'i-1',
      },
    });
    expect(eu.get('n2')).toMatchObject({ status: 'down', drain: true });
    expect(outcome?.report.deeds).toContainEqual({ kind: 'registered', node: 'n1', pool: 'eu' });
    expect(toldOf(outcome)).toContain('AsExpected');
  });

  it('changes is registered anew as it is, and keeps the eligibility that somebody gave it', async () => {
    const { bed, registry, eu } = await registered(2);
    registry.change('eu', 'n1', { ineligible: true });
    bed.changeNode('n1', { ready: false, allocatable: { cpu: '2' } });
    await bed.tick();
    expect(eu.get('n1')).toMatchObject({ status: 'down', capacity: { cpu: 2000 }, ineligible: true });
    expect(registry.takeCalls()).toEqual(['read', 'register n1']);
  });

  it('anybody cordons drains in the same tick, and no longer than it is cordoned', async () => {
    const { bed, eu } = await registered(3, 2);
    await bed.tick();
    expect(bed.takeLog().cordoned).toEqual(['n1']);
    expect([...eu.values()].map(({ drain }) => drain)).toEqual([true, false, false]);
    bed.changeNode('n2', { unschedulable: true });
    bed.replicas = 3;
    await bed.tick();
    expect([...eu.values()].map(({ drain }) => drain)).toEqual([false, true, false]);
  });

  it('an operator drains in Berth goes on draining, cordoned and uncordoned in between', async () => {
    const { bed, registry, eu } = await registered(1);
    registry.change('eu', 'n1', { drain: true });
    await bed.tick();
    expect(eu.get('n1')?.drain).toBe(true);
    bed.changeNode('n1', { unschedulable: true });
    await bed.tick();
    bed.changeNode('n1', { unschedulable: false });
    await bed.tick();
    expect(eu.get('n1')?.drain).toBe(true);
    expect(registry.takeCalls()).toEqual(['read', 'read', 'read']);
  });

  it('another tool is about to remove takes nothing new', async () => {
    const { bed, eu } = await registered(1);
    bed.changeNode('n1', { taints: ['karpenter.sh/disrupted'] });
    await bed.tick();
    expect(eu.get('n1')).toMatchObject({ drain: true, status: 'ready' });
  });

  it('names the machine of another takes nothing new, or the machine would be given out twice', async () => {
    const { bed, eu } = await registered(1);
    bed.addNode({ grow: false, instance: 'i-1' });
    await bed.tick();
    expect(['n1', 'n2'].map((name) => eu.get(name)?.drain)).toEqual([false, true]);
    bed.world.nodes.delete('n1');
    await bed.tick();
    expect(eu.get('n2')).toMatchObject({ drain: false });
  });

  it('somebody else registered is left alone, and told', async () => {
    const { bed, registry, eu } = bedWith(2);
    registerAsAgent(registry, 'n1');
    const before = eu.get('n1');
    for (const _ of [1, 2]) {
      expect(toldOf(await bed.tick(untouched))).toMatch(/RegistrationFailed: node n1 of pool eu .* somebody else/);
      expect(eu.get('n1')).toBe(before);
      expect(eu.has('n2')).toBe(true);
    }
    bed.world.nodes.delete('n1');
    await bed.tick();
    expect(eu.get('n1')).toBe(before);
  });

  it('somebody else registers between the look and the deed is left alone', async () => {
    const { bed, registry, eu } = await registered(2);
    registry.before = (operation) => {
      if (operation === 'register') registerAsAgent(registry, 'n1');
    };
    bed.changeNode('n1', { ready: false });
    const outcome = await bed.tick();
    expect(eu.get('n1')).toMatchObject({ capacity: { cpu: 7 }, status: 'ready' });
    expect(toldOf(outcome)).toContain('registered by somebody else meanwhile');
  });

  it('has the name of a machine that is gone begins anew, and what ran on the other is orphaned', async () => {
    const { bed, registry, eu } = await registered(2);
    registry.change('eu', 'n1', { tasks: 3, ineligible: true });
    const { group } = bed.world;
    const instances = new Map([...(group?.instances ?? [])].filter(([id]) => id !== 'i-1')).set('i-9', 'InService');
    if (group) bed.world.group = { ...group, instances };
    bed.changeNode('n1', another('n1', { providerId: 'aws:///eu-west-1a/i-9' }));
    const outcome = await bed.tick();
    expect(outcome?.report.deeds).toEqual([
      { kind: 'unregistered', node: 'n1', pool: 'eu', orphaned: 3 },
      { kind: 'registered', node: 'n1', pool: 'eu' },
    ]);
    expect(eu.get('n1')).toMatchObject({ tasks: 0, ineligible: false, labels: { [BERTH_LABELS.instance]: 'i-9' } });
  });

  it('has the name of another that could not be taken out waits for that', async () => {
    const { bed, registry, eu } = await registered(2);
    const withMachine = { providerId: '', machineId: 'a' };
    for (const name of ['n1', 'n2']) bed.changeNode(name, withMachine);
    bed.extra = { ...bed.extra, provider: 'minikube', config: { pool: 'eu' } };
    bed.world.group = undefined;
    await bed.tick();
    registry.takeCalls();
    registry.before = (operation) => {
      if (operation === 'remove') throw new CallError('unknown', 'Timeout', 'no answer');
    };
    bed.changeNode('n1', another('n1', { machineId: 'b' }));
    const outcome = await bed.tick();
    expect(registry.takeCalls()).toEqual(['read', 'list eu', 'remove n1']);
    expect(toldOf(outcome)).toContain('node n1 was not taken out of pool eu: no answer');
    registry.before = () => undefined;
    await bed.tick();
    expect(eu.get('n1')?.labels[BERTH_LABELS.uid]).toBe('uid-n1-again');
  });

  it('registers with the cluster once more keeps its tasks, being the same machine', async () => {
    const { bed, registry, eu } = await registered(2);
    registry.change('eu', 'n1', { tasks: 3 });
    bed.changeNode('n1', another('n1', {}));
    await bed.tick();
    expect(eu.get('n1')).toMatchObject({ tasks: 3, labels: { [BERTH_LABELS.uid]: 'uid-n1-again' } });
  });
});
