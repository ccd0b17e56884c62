import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import type { EpochMs } from '../time.ts';

let bed: BerthBed;

beforeAll(async () => {
  bed = await startBerthBed();
  await bed.berth.registerPool({ pool: 'prod', shards: 2 });
});
afterAll(() => bed.stop());

let nodes = 0;
async function newNode(): Promise<string> {
  const nodeId = `n${nodes++}`;
  await bed.berth.registerNode({ pool: 'prod', nodeId, capacity: { cpu: 1000 } });
  return nodeId;
}

const place = (planId: string, nodeId: string) => ({
  planId,
  pool: 'prod',
  placements: [{ taskId: `${planId}-t`, serviceId: 'web', slot: 1, nodeId, resources: { cpu: 100 } }],
});

describe('a node that somebody changes', () => {
  it('is what was asked for, says so among its events, and takes plans accordingly', async () => {
    const node = await newNode();
    expect(await bed.berth.setDrain('prod', node, true)).toBe(true);
    expect(await bed.berth.setEligibility('prod', node, 'ineligible')).toBe(true);
    expect(await bed.berth.setNodeStatus('prod', node, 'disconnected')).toBe(true);
    const { account, events, schedulable } = await bed.berth.node('prod', node);
    expect(account).toMatchObject({ drain: true, eligibility: 'ineligible', status: 'disconnected' });
    expect(schedulable).toBe(false);
    expect(events).toEqual([
      { at: bed.now, message: 'drain begun' },
      { at: bed.now, message: 'ineligible, was eligible' },
      { at: bed.now, message: 'status disconnected, was ready' },
    ]);

    await bed.berth.push(place('refused', node));
    await bed.applyWaiting();
    expect((await bed.berth.result('refused'))?.rejectedNodes).toMatchObject([{ code: 'node-disconnected' }]);

    await bed.berth.setNodeStatus('prod', node, 'ready');
    await bed.berth.setDrain('prod', node, false);
    await bed.berth.setEligibility('prod', node, 'eligible');
    await bed.berth.push(place('taken', node));
    await bed.applyWaiting();
    expect((await bed.berth.result('taken'))?.status).toBe('applied');
  });

  it('is not written if nothing is new', async () => {
    const node = await newNode();
    const before = await bed.berth.node('prod', node);
    expect(await bed.berth.setDrain('prod', node, false)).toBe(false);
    expect(await bed.berth.setEligibility('prod', node, 'eligible')).toBe(false);
    expect(await bed.berth.setNodeStatus('prod', node, 'ready')).toBe(false);
    expect(await bed.berth.node('prod', node)).toEqual(before);
  });

  it('keeps its last ten events', async () => {
    const node = await newNode();
    for (let drain = 0; drain < 12; drain++) {
      bed.now = (bed.now + 1) as EpochMs;
      await bed.berth.setDrain('prod', node, drain % 2 === 0);
    }
    const { events } = await bed.berth.node('prod', node);
    expect(events.map(({ at }) => bed.now - at)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  });

  it('loses none of many changes made at once', async () => {
    const node = await newNode();
    await Promise.all([
      bed.berth.setDrain('prod', node, true),
      bed.berth.setEligibility('prod', node, 'ineligible'),
      bed.berth.setNodeStatus('prod', node, 'down'),
      bed.berth.registerNode({ pool: 'prod', nodeId: node, capacity: { cpu: 2000 }, status: 'down' }),
    ]);
    const { account, events } = await bed.berth.node('prod', node);
    expect(account).toMatchObject({ drain: true, eligibility: 'ineligible', status: 'down', capacity: { cpu: 2000 } });
    expect(events.length).toBeGreaterThanOrEqual(2);
  });

  it('must be there, must not drain to be eligible, and is changed to what there is', async () => {
    const node = await newNode();
    await bed.berth.setDrain('prod', node, true);
    await expect(bed.berth.setEligibility('prod', node, 'eligible')).rejects.toThrow(
      /is draining.*end its drain first/,
    );
    await expect(bed.berth.setDrain('prod', 'nobody', true)).rejects.toThrow('there is no node nobody in pool prod');
    await expect(bed.berth.setDrain('none', node, true)).rejects.toThrow('there is no pool none');
    await expect(bed.berth.setNodeStatus('prod', node, 'gone' as 'down')).rejects.toThrow(
      'the status is invalid: expected one of initializing, ready, disconnected, down, got "gone"',
    );
  });
});

describe('a pool that somebody changes', () => {
  it('has its other settings as they were, and the defaults of what is set to null', async () => {
    await bed.berth.registerPool({ pool: 'tuned', settings: { stopRelease: 'terminal', tracker: { threshold: 7 } } });
    const before = await bed.berth.pool('tuned');
    const after = await bed.berth.changePool('tuned', { ineligibleForSeconds: 60, tracker: { windowSeconds: 10 } });
    expect(after.settings).toMatchObject({
      stopRelease: 'terminal',
      ineligibleForSeconds: 60,
      tracker: { threshold: 7, windowSeconds: 10, enabled: true },
    });
    expect(after.index).toBe(before.index + 1);
    const reset = await bed.berth.changePool('tuned', { ineligibleForSeconds: null, tracker: { threshold: null } });
    expect(reset.settings.tracker).toMatchObject({ threshold: 100, windowSeconds: 10 });
    expect(reset.settings).not.toHaveProperty('ineligibleForSeconds');
  });

  it('takes the changes of two at once', async () => {
    await bed.berth.registerPool({ pool: 'shared' });
    await Promise.all([
      bed.berth.changePool('shared', { tracker: { threshold: 5 } }),
      bed.berth.changePool('shared', { stopRelease: 'terminal' }),
      bed.berth.changePool('shared', { tracker: { markBurst: 3 } }),
    ]);
    const { settings } = await bed.berth.pool('shared');
    expect(settings).toMatchObject({ stopRelease: 'terminal', tracker: { threshold: 5, markBurst: 3 } });
  });

  it('is not made by that, and refuses nonsense', async () => {
    await expect(bed.berth.changePool('none', { stopRelease: 'plan' })).rejects.toThrow('there is no pool none');
    await expect(bed.berth.changePool('shared', { tracker: { threshold: 0 } })).rejects.toThrow(
      'tracker.threshold: expected a whole number from 1 to 10000, got 0',
    );
    expect((await bed.berth.pools()).map(({ pool }) => pool)).toEqual(['prod', 'shared', 'tuned']);
  });
});
