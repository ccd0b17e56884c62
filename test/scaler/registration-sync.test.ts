import { describe, expect, it } from 'vitest';
import { cronTimes } from '../../lib/cron/croner.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import { BERTH_LABELS } from '../../lib/scaler/registration/registration-spec.ts';
import { runTick } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';
import { bedWith, failing, watching } from './failing.ts';
import { MemoryRegistry } from './memory-registry.ts';

/** What the registration of a pool asks for and writes down, where a call of it is answered otherwise than was hoped. */

const NO_ANSWER = new CallError('unknown', 'Timeout', 'no answer');

/** A pool of `nodes` nodes that are registered as pool `eu`, after its first tick. */
async function registered(nodes: number, kind: 'eks' | 'custom' = 'eks') {
  const bed = new ScalerBed(kind, nodes);
  for (let at = 0; at < nodes; at++) bed.addNode();
  bed.extra = { config: { ...(kind === 'eks' ? { nodegroup: 'games' } : {}), pool: 'eu' } };
  const registry = new MemoryRegistry('eu', 'us');
  bed.registry = registry;
  await bed.tick(watching().intercept);
  bed.takeLog();
  registry.takeCalls();
  return { bed, registry, eu: registry.nodesOf('eu') };
}

/** Takes a node away, and its machine with it. */
function lose(bed: ScalerBed, name: string, instance: string): void {
  bed.world.nodes.delete(name);
  const { group } = bed.world;
  if (group === undefined) return;
  const instances = new Map([...group.instances].filter(([id]) => id !== instance));
  bed.world.group = { ...group, instances, desired: instances.size };
  bed.replicas = instances.size;
}

describe('the ledger is written', () => {
  it('twice where a node comes: the digest is taken out before anything is changed, and put in after', async () => {
    const { bed } = await registered(1);
    bed.replicas = 2;
    bed.addNode();
    const { intercept, times } = watching();
    await bed.tick(intercept);
    expect(times('writeLedger')).toBe(2);
  });

  it('once where a node went that somebody else took out of Berth: nothing is changed there', async () => {
    const { bed, eu } = await registered(2);
    lose(bed, 'n2', 'i-2');
    eu.delete('n2');
    const { intercept, times } = watching();
    await bed.tick(intercept);
    expect(times('writeLedger')).toBe(1);
    expect((await bed.tick(watching().intercept))?.report.errors).toEqual([]);
  });

  it('once where an earlier tick has taken the digest out already', async () => {
    const { bed } = await registered(1);
    bed.world.ledger = { ...bed.world.ledger, registration: { pool: 'eu', grouped: true } };
    bed.replicas = 2;
    bed.addNode();
    const { intercept, times } = watching();
    await bed.tick(intercept);
    expect(times('writeLedger')).toBe(1);
    expect(bed.world.ledger.registration).toEqual({ pool: 'eu', digest: expect.any(String), grouped: true });
  });

  it('without a digest as long as not all is registered', async () => {
    const { bed, registry } = await registered(1);
    bed.replicas = 2;
    bed.addNode();
    registry.before = (operation) => {
      if (operation === 'register') throw NO_ANSWER;
    };
    await bed.tick(watching().intercept);
    expect(bed.world.ledger.registration).toEqual({ pool: 'eu', grouped: true });
  });

  it('with no more of the machines that were ended than are registered still', async () => {
    const { bed } = await registered(2, 'custom');
    const registration = { pool: 'eu', digest: 'd', ended: ['uid-n2', 'uid-n9'] };
    bed.world.ledger = { ...bed.world.ledger, registration };
    bed.world.nodes.delete('n2');
    bed.replicas = 1;
    const written: unknown[] = [];
    await bed.tick(async (call, act) => {
      const result = act();
      if (call.operation === 'writeLedger') written.push(bed.world.ledger.registration);
      return result;
    });
    expect(written).toEqual([
      { pool: 'eu', ended: ['uid-n2'] },
      { pool: 'eu', digest: expect.any(String) },
    ]);
  });
});

describe('machines are asked after', () => {
  it('not where the group tells of them, nor those of nodes that somebody else registered', async () => {
    const { bed, registry, eu } = await registered(2);
    bed.world.nodes.delete('n2');
    const labels = { [BERTH_LABELS.registeredBy]: 'prod/other', [BERTH_LABELS.instance]: 'i-9' };
    const one = eu.get('n1');
    if (one === undefined) throw new Error('n1 is not registered');
    eu.set('n9', { ...one, nodeId: 'n9', labels, revision: registry.nextRevision() });
    const { intercept, times } = watching();
    await bed.tick(intercept);
    expect(times('locate')).toBe(0);
    expect(eu.get('n2')).toMatchObject({ drain: true, status: 'down' });
  });

  it('and if nobody answers, stay, since they may run', async () => {
    const { bed, eu } = await registered(2);
    lose(bed, 'n2', 'i-2');
    const outcome = await bed.tick(failing('locate', 'unknown').intercept);
    expect(eu.get('n2')).toMatchObject({ drain: true, status: 'down' });
    expect(outcome?.report.findings.map(({ message }) => message).join()).toContain(
      'its machine i-2 may go on running',
    );
    await bed.tick(watching().intercept);
    expect(eu.has('n2')).toBe(false);
  });
});

describe('a node whose machine has ended', () => {
  async function ended() {
    const all = await registered(2);
    lose(all.bed, 'n2', 'i-2');
    all.registry.change('eu', 'n2', { tasks: 1 });
    return all;
  }

  it('stays, and so does its digest, where nobody can tell whether it has come back', async () => {
    const { bed, eu } = await ended();
    await bed.tick(failing('readNode', 'unknown').intercept);
    expect(eu.get('n2')).toMatchObject({ tasks: 1 });
    expect(bed.world.ledger.registration).not.toHaveProperty('digest');
    await bed.tick(watching().intercept);
    expect(eu.has('n2')).toBe(false);
    expect(bed.world.ledger.registration).toHaveProperty('digest');
  });

  it('stays where it comes back as the same machine before the last look, and goes where another has its name', async () => {
    for (const [providerId, stays] of [
      ['aws:///eu-west-1a/i-2', true],
      ['aws:///eu-west-1a/i-7', false],
    ] as const) {
      const { bed, eu } = await ended();
      const node = bed.world.nodes.get('n1');
      if (node === undefined) throw new Error('the world has no node');
      await bed.tick(async (call, act) => {
        if (call.operation === 'readNode')
          bed.world.nodes.set('n2', { ...node, name: 'n2', uid: 'uid-new', providerId });
        return act();
      });
      expect(eu.has('n2')).toBe(stays);
    }
  });

  it('goes where a node has its name that was there when the tick looked, whatever that is', async () => {
    const { bed, eu } = await registered(2, 'custom');
    bed.world.ledger = { ...bed.world.ledger, registration: { pool: 'eu', ended: ['uid-n2'] } };
    bed.changeNode('n2', { uid: 'uid-new' });
    await bed.tick(watching().intercept);
    expect(eu.get('n2')?.labels[BERTH_LABELS.uid]).toBe('uid-new');
  });

  it('is not taken out once time is over, and nothing is registered then', async () => {
    const { bed, registry } = await ended();
    bed.replicas = 2;
    bed.addNode();
    const late = async (operation: 'writeLedger' | 'readNode') => {
      registry.takeCalls();
      await bed.tick(async (call, act) => {
        const result = act();
        if (call.operation === operation) bed.now = (bed.now + 60_000) as EpochMs;
        return result;
      });
      return registry.takeCalls().filter((call) => !/^(read|list)/.test(call));
    };
    expect(await late('writeLedger')).toEqual([]);
    expect(await late('readNode')).toEqual(['remove n2']);
    await bed.tick(watching().intercept);
    expect(registry.takeCalls()).toEqual(['read', 'list eu', 'register n3']);
  });
});

describe('what is told', () => {
  it('of a node that is registered anew is nothing: it was there before', async () => {
    const { bed } = await registered(2);
    bed.changeNode('n2', { ready: false });
    bed.addNode();
    bed.replicas = 3;
    const outcome = await bed.tick(watching().intercept);
    expect(outcome?.report.deeds).toEqual([{ kind: 'registered', node: 'n3', pool: 'eu' }]);
  });

  it('of a node that somebody else registered meanwhile is that it is left alone, and the next tick looks again', async () => {
    const { bed, registry, eu } = await registered(1);
    bed.replicas = 2;
    bed.addNode();
    const one = eu.get('n1');
    if (one === undefined) throw new Error('n1 is not registered');
    registry.before = (operation) => {
      if (operation === 'register')
        eu.set('n2', { ...one, nodeId: 'n2', labels: {}, revision: registry.nextRevision() });
    };
    const outcome = await bed.tick(watching().intercept);
    expect(outcome?.report.deeds).toEqual([]);
    expect(bed.world.ledger.registration).not.toHaveProperty('digest');
  });
});

it('an object that names another pool registers nothing there before it has seen what it had in the first', async () => {
  const { bed, registry } = await registered(1);
  bed.extra = { config: { nodegroup: 'games', pool: 'us' } };
  registry.before = (operation) => {
    if (operation === 'list') throw NO_ANSWER;
  };
  await bed.tick(watching().intercept);
  expect([...registry.nodesOf('us').keys()]).toEqual([]);
  expect(bed.world.ledger.registration?.pool).toBe('eu');
});

it('an object that names no pool and never did asks for nothing, though others have been read', async () => {
  const { bed, registry } = await registered(1);
  bed.extra = {};
  for (const _ of [1, 2]) await bed.tick(watching().intercept);
  registry.takeCalls();
  await bed.tick(watching().intercept);
  expect(registry.takeCalls()).toEqual([]);
});

it('what is registered before its provider could be asked is read whole once, when it can', async () => {
  const { bed, registry } = await registered(1);
  const { grouped: _, ...registration } = bed.world.ledger.registration ?? { pool: 'eu' };
  bed.world.ledger = { ...bed.world.ledger, registration };
  await bed.tick(watching().intercept);
  expect(registry.takeCalls()).toEqual(['read', 'list eu']);
  expect(bed.world.ledger.registration).toMatchObject({ grouped: true });
  await bed.tick(watching().intercept);
  expect(registry.takeCalls()).toEqual(['read']);
});

it('an object that names a pool no more has left it, whatever others name', async () => {
  const { bed, registry, eu } = await registered(1);
  const other = bedWith(0, 0);
  const tick = async () => {
    const outcomes = await runTick(
      [
        { name: 'game', createdAt: 1 as EpochMs, spec: { ...bed.spec(), config: { nodegroup: 'games' } } },
        { name: 'web', createdAt: 2 as EpochMs, spec: { ...other.spec(), config: { nodegroup: 'web', pool: 'us' } } },
      ],
      {
        cluster: bed.world.cluster,
        portsOf: (name) => {
          const { world } = name === 'game' ? bed : other;
          return { ledger: world.ledgerStore, provider: () => world.provider };
        },
        ...{ registry, times: cronTimes, clock: () => bed.now, deadline: (bed.now + 50_000) as EpochMs },
      },
    );
    return outcomes.flatMap(({ report }) => report.findings.map(({ message }) => message));
  };
  expect(await tick()).toEqual([
    expect.stringContaining('still registered in pool eu, which the object names no more'),
  ]);
  expect(eu.get('n1')).toMatchObject({ drain: true });
  expect(await tick()).toEqual([]);
  expect({ left: eu.size, remembered: bed.world.ledger.registration }).toEqual({ left: 0, remembered: undefined });
});
