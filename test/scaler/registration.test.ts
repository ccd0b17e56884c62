import { describe, expect, it } from 'vitest';
import { faultsOf } from '../../cases/scaler/faults.ts';
import type { Intercept } from '../../cases/scaler/world.ts';
import { cronTimes } from '../../lib/cron/croner.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import type { Ledger, ObservedNode, RegisteredNode } from '../../lib/scaler/observation.ts';
import { BERTH_LABELS } from '../../lib/scaler/registration/registration-spec.ts';
import { type ObjectOutcome, runTick } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { OBJECT, ScalerBed } from './bed.ts';
import { MemoryRegistry } from './memory-registry.ts';

const MINUTE_MS = 60_000;
const untouched: Intercept = async (_, act) => act();

/** A pool of `nodes` nodes that is registered as pool `eu`, before its first tick. */
function bedWith(nodes: number, replicas = nodes, config: Record<string, string> = {}) {
  const bed = new ScalerBed('eks', replicas);
  for (let at = 0; at < nodes; at++) bed.addNode();
  bed.extra = { config: { nodegroup: 'games', pool: 'eu', ...config } };
  const registry = new MemoryRegistry('eu');
  bed.registry = registry;
  return { bed, registry, eu: registry.nodesOf('eu') };
}

/** The same after a first tick, nothing of which is in the log. */
async function registered(nodes: number, replicas = nodes, config: Record<string, string> = {}) {
  const all = bedWith(nodes, nodes, config);
  await all.bed.tick(untouched);
  all.bed.replicas = replicas;
  all.bed.takeLog();
  all.registry.takeCalls();
  return all;
}

function pass(bed: ScalerBed, minutes = 1): void {
  bed.now = (bed.now + minutes * MINUTE_MS) as EpochMs;
}

/** What the conditions tell of the pool that is not as it should be. */
function toldOf(outcome: ObjectOutcome | undefined): string {
  const degraded = outcome?.status.conditions.find(({ type }) => type === 'Degraded');
  return `${degraded?.reason}: ${degraded?.message}`;
}

function another(name: string, fields: Partial<ObservedNode>): Partial<ObservedNode> {
  return { uid: `uid-${name}-again`, ...fields };
}

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

describe('a node is taken out', () => {
  it('once its machine is ended, and not before', async () => {
    const { bed, registry, eu } = await registered(2, 1);
    registry.change('eu', 'n1', { tasks: 2 });
    await bed.tick();
    pass(bed);
    await bed.tick(faultsOf(bed.world, [{ op: 'providerDelete', error: 'Timeout' }]));
    expect(eu.get('n1')).toMatchObject({ drain: true, tasks: 2 });
    const outcome = await bed.tick(untouched);
    expect(outcome?.report.deeds.map(({ kind }) => kind)).toEqual(['machine-ended', 'node-deleted', 'unregistered']);
    expect(outcome?.report.deeds.at(-1)).toMatchObject({ orphaned: 2 });
    expect([...eu.keys()]).toEqual(['n2']);
  });

  it('where somebody deleted it and its machine, with its tasks orphaned', async () => {
    const { bed, eu } = await registered(2);
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, instances: new Map(group.instances).set('i-1', 'Terminating') };
    bed.world.nodes.delete('n1');
    await bed.tick();
    expect([...eu.keys()]).toEqual(['n2']);
  });

  it('in the tick that ends the machine whose node somebody deleted', async () => {
    const { bed, eu } = await registered(2, 1);
    bed.world.nodes.delete('n1');
    const entry = { node: 'n1', uid: 'uid-n1', instance: 'i-1', since: bed.now };
    bed.world.ledger = { ...bed.world.ledger, pendingDeletions: [entry] };
    const outcome = await bed.tick();
    expect(outcome?.report.deeds.map(({ kind }) => kind)).toEqual(['machine-ended', 'unregistered']);
    expect([...eu.keys()]).toEqual(['n2']);
  });

  it('never while its machine runs without a node: it is down, and told', async () => {
    const { bed, registry, eu } = await registered(2);
    registry.change('eu', 'n1', { tasks: 2 });
    bed.world.nodes.delete('n1');
    const outcome = await bed.tick();
    expect(eu.get('n1')).toMatchObject({ status: 'down', drain: true, tasks: 2 });
    expect(toldOf(outcome)).toMatch(/RegistrationFailed: node n1 is gone .* i-1 may go on running/);
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, instances: new Map(group.instances).set('i-1', 'Terminating') };
    await bed.tick();
    expect([...eu.keys()]).toEqual(['n2']);
  });

  it('never that has joined since the tick has looked, though another tick has registered it', async () => {
    const { bed, registry, eu } = await registered(1);
    const name = bed.addNode();
    await bed.tick();
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, desired: 1, instances: new Map([['i-1', 'InService']]) };
    // The list of nodes is one of a moment before it came.
    await bed.tick(async (call, act) => {
      const seen = act() as { nodes?: readonly ObservedNode[] };
      if (call.operation !== 'snapshot') return seen as never;
      return { ...seen, nodes: seen.nodes?.filter((node) => node.name !== name) } as never;
    });
    expect(registry.takeCalls()).not.toContain(`remove ${name}`);
    expect(eu.has(name)).toBe(true);
  });

  it('when it belongs to another group, drained, once no task holds it', async () => {
    const { bed, registry, eu } = await registered(2);
    registry.change('eu', 'n1', { tasks: 1 });
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, desired: 1, instances: new Map([['i-2', 'InService']]) };
    bed.world.elsewhere.add('i-1');
    bed.replicas = 1;
    await bed.tick();
    expect(eu.get('n1')).toMatchObject({ drain: true, tasks: 1, status: 'ready' });
    expect(toldOf(await bed.tick())).toContain('goes when they have ended');
    registry.change('eu', 'n1', { tasks: 0 });
    await bed.tick();
    expect([...eu.keys()]).toEqual(['n2']);
  });
});

describe('the pool of Berth', () => {
  it('that the object names no more is left before another gets the nodes, and no task is orphaned', async () => {
    const { bed, registry, eu } = await registered(1);
    registry.pools.set('us', new Map());
    registry.change('eu', 'n1', { tasks: 1 });
    bed.extra = { config: { nodegroup: 'games', pool: 'us' } };
    for (const _ of [1, 2]) expect(toldOf(await bed.tick())).toContain('nodes are still registered in pool eu');
    expect(eu.get('n1')).toMatchObject({ drain: true, tasks: 1 });
    expect(registry.nodesOf('us').size).toBe(0);
    registry.change('eu', 'n1', { tasks: 0 });
    await bed.tick();
    expect(eu.size).toBe(0);
    expect(registry.nodesOf('us').get('n1')).toMatchObject({ drain: false, status: 'ready' });
  });

  it('is left by an object that names none any more, which then asks Berth for nothing', async () => {
    const { bed, registry, eu } = await registered(2);
    bed.extra = {};
    for (const _ of [1, 2]) await bed.tick();
    expect(eu.size).toBe(0);
    registry.takeCalls();
    expect(toldOf(await bed.tick())).toContain('AsExpected');
    expect(registry.takeCalls()).toEqual([]);
    expect(bed.world.ledger.registration).toBeUndefined();
  });

  it('that does not exist is told, and the pool is scaled', async () => {
    const { bed, registry } = bedWith(1, 3);
    registry.pools.clear();
    expect(toldOf(await bed.tick())).toMatch(/RegistrationFailed: pool eu does not exist .*berth pool create eu/);
    expect(bed.takeLog().increaseBy).toBe(2);
    registry.pools.set('eu', new Map());
    expect(toldOf(await bed.tick())).toContain('AsExpected');
    expect(registry.nodesOf('eu').size).toBe(1);
  });

  it('is asked for by a tick that has nobody to ask: that is told', async () => {
    const { bed } = bedWith(1);
    bed.registry = undefined;
    expect(toldOf(await bed.tick())).toContain('RegistrationFailed');
  });
});

describe('nodes that Berth made ineligible', () => {
  it('are the first to go, whatever is on them', async () => {
    const { bed, registry } = await registered(3, 2);
    bed.addServer('n3', 'Allocated');
    registry.change('eu', 'n3', { ineligible: true });
    await bed.tick();
    expect(bed.takeLog().cordoned).toEqual(['n3']);
  });

  it('are replaced within the maximum', async () => {
    const { bed, registry } = await registered(3, 3, { replaceIneligible: 'true' });
    if (bed.world.group) bed.world.group = { ...bed.world.group, max: 4 };
    for (const name of ['n1', 'n2']) registry.change('eu', name, { ineligible: true });
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ increaseBy: 1, cordoned: [] });
    bed.addNode({ grow: false });
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ increaseBy: 0, cordoned: ['n1'], violations: [] });
    pass(bed);
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ nodesDeleted: ['n1'], violations: [] });
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ increaseBy: 1, cordoned: [] });
  });

  it('are none for what another machine of that name was', async () => {
    const { bed, registry } = await registered(2, 1);
    registry.change('eu', 'n2', { ineligible: true });
    const { group } = bed.world;
    if (group) {
      bed.world.group = {
        ...group,
        instances: new Map([
          ['i-1', 'InService'],
          ['i-9', 'InService'],
        ]),
      };
    }
    bed.changeNode('n2', another('n2', { providerId: 'aws:///eu-west-1a/i-9' }));
    await bed.tick();
    expect(bed.takeLog().cordoned).toEqual(['n1']);
  });
});

describe('a registry that fails', () => {
  const failing = (kind: CallError['kind']) => () => {
    throw new CallError(kind, 'Timeout', 'no answer');
  };

  it.each(['unknown', 'denied', 'throttled'] as const)('(%s) stops no scaling, and is told', async (kind) => {
    const { bed, registry } = await registered(3, 2);
    registry.change('eu', 'n3', { ineligible: true });
    registry.before = failing(kind);
    const outcome = await bed.tick();
    expect(toldOf(outcome)).toMatch(/RegistrationFailed: .*no answer/);
    expect(outcome?.report.errors).toMatchObject([{ operation: 'readRegistry', subject: 'eu', code: 'Timeout' }]);
    // Nobody knows that n3 is ineligible.
    expect(bed.takeLog().cordoned).toEqual(['n1']);
    registry.before = () => undefined;
    await bed.tick();
    expect(registry.nodesOf('eu').get('n1')?.drain).toBe(true);
  });

  it.each(['list', 'register', 'remove'] as const)('at %s is asked again by the next tick', async (operation) => {
    const { bed, registry, eu } = await registered(2);
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, instances: new Map(group.instances).set('i-1', 'Terminating') };
    bed.world.nodes.delete('n1');
    bed.addNode();
    registry.before = (asked) => {
      if (asked === operation) failing('unknown')();
    };
    expect(toldOf(await bed.tick())).toContain('RegistrationFailed');
    registry.before = () => undefined;
    expect(toldOf(await bed.tick())).toContain('AsExpected');
    expect([...eu.keys()].sort()).toEqual(['n2', 'n3']);
    registry.takeCalls();
    await bed.tick();
    expect(registry.takeCalls()).toEqual(['read']);
  });

  it('that has done what it did not answer leaves no node behind that has gone since', async () => {
    const { bed, registry, eu } = await registered(1);
    const before = bed.world.group;
    const name = bed.addNode();
    registry.before = (operation) => {
      // The function ends right after the node is registered: the ledger hears nothing.
      if (operation !== 'register') return;
      bed.world.intercept = async (call, act) => {
        if (call.operation === 'writeLedger') throw new CallError('unknown', 'Timeout', 'no answer');
        return act();
      };
    };
    await bed.tick();
    expect(eu.has(name)).toBe(true);
    registry.before = () => undefined;
    bed.world.nodes.delete(name);
    bed.world.group = before;
    await bed.tick(untouched);
    expect([...eu.keys()]).toEqual(['n1']);
  });
});

describe('what a tick asks of Berth', () => {
  it('is nothing, where no object names a pool', async () => {
    const { bed, registry } = bedWith(2);
    bed.extra = {};
    await bed.tick();
    expect(registry.takeCalls()).toEqual([]);
  });

  it('is one look if nothing changes, and all of the pool where a node came or went', async () => {
    const { bed, registry } = bedWith(2);
    await bed.tick(untouched);
    expect(registry.takeCalls()).toEqual(['read', 'list eu', 'register n1 n2']);
    const { version } = bed.world.ledger;
    await bed.tick();
    expect(registry.takeCalls()).toEqual(['read']);
    expect(bed.world.ledger.version).toBe(version);
    bed.addNode();
    bed.replicas = 3;
    await bed.tick();
    expect(registry.takeCalls()).toEqual(['read', 'list eu', 'register n3']);
  });

  it('is one look as well while a node is there whose machine is gone', async () => {
    const { bed, registry, eu } = await registered(2, 1);
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, desired: 1, instances: new Map([['i-2', 'InService']]) };
    await bed.tick();
    expect(eu.get('n1')?.drain).toBe(true);
    expect(registry.takeCalls()).toEqual(['read', 'register n1']);
    await bed.tick();
    expect(registry.takeCalls()).toEqual(['read']);
  });

  it('is as much for twenty pools as for one', async () => {
    const once = await callsOfIdleTick(1);
    expect(once).toEqual(['read']);
    expect(await callsOfIdleTick(20)).toEqual(once);
  });

  it('is nothing after the deadline, and the report says that there is more to do', async () => {
    const { bed, registry } = bedWith(1);
    const outcome = await bed.tick(untouched, 0);
    expect(registry.takeCalls()).toEqual(['read']);
    expect(outcome?.report.outOfTime).toBe(true);
  });
});

/** What the second tick of that many pools of two nodes each asks of Berth. */
async function callsOfIdleTick(pools: number): Promise<string[]> {
  const bed = new ScalerBed('minikube', 2);
  const names = Array.from({ length: pools }, (_, at) => `game-${at}`);
  const registry = new MemoryRegistry(...names);
  const ledgers = new Map<string, Ledger>();
  for (const name of names) {
    for (const _ of [1, 2]) bed.changeNode(bed.addNode(), { labels: { game: name } });
  }
  const objects = names.map((name) => ({
    name,
    createdAt: bed.now,
    spec: { replicas: 2, provider: 'minikube', config: { nodeSelector: `game=${name}`, pool: name } },
  }));
  const tick = () =>
    runTick(objects, {
      cluster: bed.world.cluster,
      portsOf: (name) => ({
        ledger: {
          read: async () => ledgers.get(name) ?? { version: 0, pendingDeletions: [] },
          write: async (next) => {
            const written = { ...next, version: next.version + 1 };
            ledgers.set(name, written);
            return written;
          },
        },
        provider: () => bed.world.provider,
      }),
      registry,
      times: cronTimes,
      clock: () => bed.now,
      deadline: (bed.now + 50_000) as EpochMs,
    });
  await tick();
  const registeredNodes: RegisteredNode[] = names.flatMap((name) => [...registry.nodesOf(name).values()]);
  expect(registeredNodes).toHaveLength(2 * pools);
  registry.takeCalls();
  await tick();
  return registry.takeCalls();
}
