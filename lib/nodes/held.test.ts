import { expect, it } from 'vitest';
import { accountWith, placementOf } from '../../test/support/builders.ts';
import { heldOf } from './held.ts';

const spec = { capacity: { cpu: 1000 }, cores: [0, 1], devices: [{ id: 'gpu' }] };

it('finds nothing on a node that nobody uses', () => {
  expect(heldOf(accountWith(spec))).toBeUndefined();
});

it('names the holders of what there is one of, and counts all', () => {
  const tasks = [
    placementOf('amount', { resources: { cpu: 10 } }),
    placementOf('core', { cores: [0] }),
    placementOf('writer', { volumes: [{ source: 'a', mode: 'single-writer' }] }),
    placementOf('reader', { volumes: [{ source: 'b', mode: 'reader-only' }] }),
    placementOf('passer', { ports: [{ ip: 'a', value: 80, ignoreCollision: true }] }),
  ];
  expect(heldOf(accountWith(spec, tasks))).toEqual({ tasks: 5, holders: ['core', 'passer', 'reader', 'writer'] });
});

it('finds an amount that drifted, though no task is counted', () => {
  const account = accountWith(spec);
  expect(heldOf({ ...account, free: { ...account.free, cpu: 999 } })).toEqual({ tasks: 0, holders: [] });
});

it('finds a claim that drifted, though all is free', () => {
  const account = accountWith(spec, [placementOf('t', { devices: ['gpu'] })]);
  expect(heldOf({ ...account, free: account.capacity })).toEqual({ tasks: 0, holders: ['t'] });
});
