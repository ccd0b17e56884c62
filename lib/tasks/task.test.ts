import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placementOf, taskOf } from '../../test/support/builders.ts';
import { holdingOf } from './holding.ts';
import { DESIRED_STATES, TASK_STATES } from './states.ts';
import { isLive, slotKeyOf, type TaskRef, taskRefSchema } from './task.ts';

describe('slotKeyOf', () => {
  const place = (serviceId: string, slot: number | undefined, nodeId: string) =>
    slotKeyOf({ serviceId, slot, nodeId } as TaskRef);

  it('is the number of a replicated service, the node of a global one', () => {
    expect(place('web', 3, 'n1')).toBe('web#3');
    expect(place('web', 0, 'n1')).toBe('web#0');
    expect(place('web', undefined, 'n1')).toBe('web@n1');
  });

  it('is another for every slot, whatever ids look like', () => {
    const id = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.:/+=,~-]{0,5}$/);
    const where = fc.record({ serviceId: id, slot: fc.option(fc.nat(), { nil: undefined }), nodeId: id });
    fc.assert(
      fc.property(where, where, (a, b) => {
        const same =
          a.serviceId === b.serviceId && a.slot === b.slot && (a.slot !== undefined || a.nodeId === b.nodeId);
        expect(slotKeyOf(a as TaskRef) === slotKeyOf(b as TaskRef)).toBe(same);
      }),
    );
  });
});

describe('isLive', () => {
  it.each(TASK_STATES.flatMap((state) => DESIRED_STATES.map((desired) => [state, desired] as const)))(
    '%s, wanted %s',
    (state, desiredState) => {
      const ended = ['complete', 'shutdown', 'failed', 'rejected', 'orphaned'].includes(state);
      const stopped = desiredState === 'shutdown' || desiredState === 'remove';
      expect(isLive({ state, desiredState })).toBe(!ended && !stopped);
    },
  );
});

describe('holdingOf', () => {
  it('is the resources, one place among the tasks of the node, and the claims', () => {
    const wants = { resources: { cpu: 5 }, cores: [1] };
    expect(holdingOf(placementOf('t1', wants))).toEqual({
      taskId: 't1',
      resources: { cpu: 5, 'max-tasks': 1 },
      claims: [{ key: 'core/1', kind: 'core', mode: 'exclusive', name: 'core 1' }],
    });
  });

  it('is of a task what it was of its placement, so that what is taken is what is given back', () => {
    const wants = {
      resources: { cpu: 5 },
      ports: [{ ip: 'a', value: 1 }],
      devices: ['d'],
      volumes: [{ source: 'v', mode: 'reader-only' as const }],
    };
    expect(holdingOf(taskOf('t1', wants))).toEqual(holdingOf(placementOf('t1', wants)));
  });
});

describe('what names a task', () => {
  it('is its id and its place, and nothing else', () => {
    expect(taskRefSchema.safeParse({ taskId: 't1', serviceId: 'web', slot: 0, nodeId: 'n1' }).success).toBe(true);
    expect(taskRefSchema.safeParse({ taskId: 't1', serviceId: 'web', nodeId: 'n1' }).success).toBe(true);
    for (const wrong of [{ slot: -1 }, { slot: 1.5 }, { nodeId: '' }, { pool: 'prod' }]) {
      expect(taskRefSchema.safeParse({ taskId: 't1', serviceId: 'web', nodeId: 'n1', ...wrong }).success).toBe(false);
    }
  });
});
