import { describe, expect, it } from 'vitest';
import { bedWith, registered, toldOf } from './registered-bed.ts';

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
