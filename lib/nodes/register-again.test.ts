import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountWith, NOW, placementOf } from '../../test/support/builders.ts';
import { nodeSpecs, steps } from '../../test/support/node-arbitraries.ts';
import { nodeOf } from '../../test/support/plans.ts';
import { holdingOf } from '../tasks/holding.ts';
import type { EpochMs } from '../time.ts';
import { type Account, accountAt, accountOf, exchanged, madeIneligible } from './account.ts';
import { FREE } from './claims.ts';
import { misfitOf } from './fit.ts';
import type { NodeSpecInput } from './node.ts';

const task = placementOf('t1', {
  resources: { cpu: 600, gpu: 1 },
  cores: [1],
  devices: ['gpu-0'],
  ports: [{ ip: 'a', value: 80 }],
  volumes: [{ source: 'logs', mode: 'multi-writer' }],
});
const spec: Partial<NodeSpecInput> = {
  capacity: { cpu: 1000, gpu: 1 },
  cores: [0, 1],
  devices: [{ id: 'gpu-0' }],
  maxTasks: 3,
};
const held = accountWith(spec, [task]);

const again = (account: Account, changes: Partial<NodeSpecInput>) =>
  accountOf(nodeOf({ nodeId: 'n1', pool: 'prod', capacity: {}, ...spec, ...changes }), account);
const without = (account: Account) => exchanged(account, { gives: [holdingOf(task)], takes: [] });
const misfit = (account: Account, wants: Parameters<typeof placementOf>[1]) =>
  misfitOf(account, { gives: [], takes: [holdingOf(placementOf('t9', wants))] })?.code;

describe('a node that is registered again', () => {
  it('keeps everything that tasks hold, if it is described as before', () => {
    expect(again(held, {})).toEqual({ ...held, profile: held.profile + 1, version: held.version + 1 });
  });

  it('has more free by as much as its capacity grew', () => {
    expect(again(held, { capacity: { cpu: 1500, gpu: 1 } }).free).toEqual({ cpu: 900, gpu: 0, 'max-tasks': 2 });
  });

  it('has less free by as much as its capacity shrank, down to less than nothing', () => {
    const account = again(held, { capacity: { cpu: 500, gpu: 1 }, maxTasks: 0 });
    expect(account.free).toEqual({ cpu: -100, gpu: 0, 'max-tasks': -1 });
    expect(without(account).free).toEqual({ cpu: 500, gpu: 1, 'max-tasks': 0 });
  });

  it('has a resource in use that it lost written down until it is given back, and no longer', () => {
    const account = again(held, { capacity: { cpu: 1000 } });
    expect(account.free).toEqual({ cpu: 400, gpu: -1, 'max-tasks': 2 });
    expect(again(account, { capacity: { cpu: 1000 } }).free).toEqual(account.free);
    expect(without(account).free).toEqual({ cpu: 1000, 'max-tasks': 3 });
    expect(again(account, { capacity: { cpu: 1000, gpu: 4 } }).free).toMatchObject({ gpu: 3 });
  });

  it('has a resource that it gained free', () => {
    expect(again(held, { capacity: { cpu: 1000, gpu: 1, disk: 7 } }).free).toMatchObject({ disk: 7 });
  });

  it('has no limit of tasks any more, if it sets none', () => {
    const { maxTasks: _limit, ...unlimited } = spec;
    const account = accountOf(nodeOf({ nodeId: 'n1', pool: 'prod', capacity: {}, ...unlimited }), held);
    expect(account.free['max-tasks']).toBe(999_999_999);
  });

  it('leaves a core and a device that it lost with the task that holds them, and gives them to no other', () => {
    const account = again(held, { cores: [0], devices: [] });
    expect(account.claims.get('core/1' as never)).toBe('t1');
    expect(account.claims.get('device/gpu-0' as never)).toBe('t1');
    const after = without(account);
    expect(misfit(after, { cores: [1] })).toBe('cores');
    expect(misfit(after, { devices: ['gpu-0'] })).toBe('device-unavailable');
    expect(misfit(after, { cores: [0] })).toBeUndefined();
    expect([...again(after, { cores: [0], devices: [] }).claims.keys()]).toEqual(['core/0']);
  });

  it('gives a core that it lists once more to whoever asks, as soon as its holder has left', () => {
    const account = again(again(held, { cores: [0] }), { cores: [0, 1] });
    expect(misfit(account, { cores: [1] })).toBe('cores');
    expect(misfit(without(account), { cores: [1] })).toBeUndefined();
  });

  it('withdraws a device that fell ill while it is held, and offers it again when it is well', () => {
    const ill = again(held, { devices: [{ id: 'gpu-0', healthy: false }] });
    expect(ill.claims.get('device/gpu-0' as never)).toBe('t1');
    expect(misfit(without(ill), { devices: ['gpu-0'] })).toBe('device-unavailable');
    expect(misfit(without(again(ill, {})), { devices: ['gpu-0'] })).toBeUndefined();
  });

  it.each(['80', '80,9000-9100'])('reserves %s without taking the port from the task that uses it', (reservedPorts) => {
    const account = again(held, { reservedPorts });
    expect(account.claims.get('port/a/80' as never)).toBe('t1');
    expect(misfit(without(account), { ports: [{ ip: 'a', value: 80 }] })).toBe('port-collision');
    expect(misfit(without(again(account, {})), { ports: [{ ip: 'a', value: 80 }] })).toBeUndefined();
  });

  it('stays ineligible and draining unless it is told otherwise, but is ready', () => {
    const account = again(held, { eligibility: 'ineligible', drain: true, status: 'down' });
    expect(account).toMatchObject({ eligibility: 'ineligible', drain: true, status: 'down' });
    expect(again(account, {})).toMatchObject({ eligibility: 'ineligible', drain: true, status: 'ready' });
    expect(again(account, { eligibility: 'eligible', drain: false })).toMatchObject({
      eligibility: 'eligible',
      drain: false,
    });
  });

  it('is eligible again when its time comes, unless an operator has said otherwise since', () => {
    const inAMinute = (NOW + 60_000) as EpochMs;
    const marked = madeIneligible(held, inAMinute);
    const after = again(marked, {});
    expect(after).toMatchObject({ eligibility: 'ineligible', eligibleAt: inAMinute });
    expect(accountAt(after, inAMinute).eligibility).toBe('eligible');
    expect(again(marked, { eligibility: 'ineligible' })).not.toHaveProperty('eligibleAt');
    expect(again(marked, { eligibility: 'eligible' })).not.toHaveProperty('eligibleAt');
  });

  it('keeps the index of the last commit that changed it', () => {
    expect(again({ ...held, index: 12 }, {}).index).toBe(12);
  });

  it('comes to the same whether tasks end before it or after it', () => {
    const apart = ({ version: _version, profile: _profile, ...account }: Account) => account;
    fc.assert(
      fc.property(nodeSpecs, nodeSpecs, steps(3), (first, second, list) => {
        const takes = list.flatMap((step) => step.takes.map(holdingOf));
        let full = accountOf(first);
        const there = takes.filter((take) => {
          const exchange = { gives: [], takes: [take] };
          if (misfitOf(full, exchange)) return false;
          full = exchanged(full, exchange);
          return true;
        });
        const end = (account: Account) => exchanged(account, { gives: there, takes: [] });
        const after = accountOf(second, end(full));
        const before = end(accountOf(second, full));
        // What the node lists no more stands there as free until it is registered once more: nobody can have it.
        const claims = new Map([...before.claims].filter(([key, holder]) => holder !== FREE || after.claims.has(key)));
        const withdrawn = new Set(
          [...before.withdrawn].filter((key) => before.claims.get(key) !== FREE || after.claims.has(key)),
        );
        expect(apart({ ...before, claims, withdrawn })).toEqual(apart(after));
      }),
      { numRuns: 200 },
    );
  });
});
