import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountWith, holding, type PlacementInput, placementOf } from '../../test/support/builders.ts';
import { holdingOf } from '../tasks/holding.ts';
import type { Account } from './account.ts';
import { driftOf, mended } from './audit.ts';
import { type ClaimKey, FREE } from './claims.ts';

const SPEC = { capacity: { cpu: 1000, memory: 512 }, cores: [0, 1], devices: [{ id: 'gpu' }] };
const WEB: Partial<PlacementInput> = {
  resources: { cpu: 100 },
  cores: [1],
  ports: [{ ip: '10.0.0.1', value: 80 }],
  volumes: [{ source: 'shared', mode: 'reader-only' }],
};

const claim = (account: Account, key: string, holder: string | undefined): Account => {
  const claims = new Map(account.claims);
  if (holder === undefined) claims.delete(key as ClaimKey);
  else claims.set(key as ClaimKey, holder);
  return { ...account, claims };
};

describe('the drift of an account', () => {
  const account = accountWith(SPEC, [placementOf('web', WEB)]);
  const holdings = [holding('web', WEB)];

  it('is none where it says what its tasks hold', () => {
    expect(driftOf(account, holdings)).toEqual([]);
    expect(driftOf(accountWith(SPEC), [])).toEqual([]);
  });

  it('is what a task that is not there would hold', () => {
    expect(driftOf(account, [])).toEqual([
      { at: 'free.cpu', stored: '900', expected: '1000', mendable: true },
      { at: 'free.max-tasks', stored: '999999999', expected: '1000000000', mendable: true },
      { at: 'claims.core/1', stored: 'web', expected: 'nobody', mendable: true },
      { at: 'claims.port/10.0.0.1/80', stored: 'web', expected: 'nobody', mendable: true },
      { at: 'sharers.volume/shared', stored: 'web', expected: 'nobody', mendable: true },
    ]);
  });

  it('is what a task that is there does not hold', () => {
    const drift = driftOf(accountWith(SPEC), holdings);
    expect(drift.map(({ at, expected }) => [at, expected])).toEqual([
      ['free.cpu', '900'],
      ['free.max-tasks', '999999999'],
      ['claims.core/1', 'web'],
      ['claims.port/10.0.0.1/80', 'web'],
      ['sharers.volume/shared', 'web'],
    ]);
  });

  it('is a resource that the node does not have and a task uses', () => {
    expect(driftOf(accountWith(SPEC), [{ taskId: 'x' as never, resources: { fpga: 2 }, claims: [] }])).toEqual([
      { at: 'free.fpga', stored: '0', expected: '-2', mendable: true },
    ]);
  });

  it('is a thing held by another than who claims it', () => {
    expect(driftOf(claim(account, 'core/1', 'ghost'), holdings)).toEqual([
      { at: 'claims.core/1', stored: 'ghost', expected: 'web', mendable: true },
    ]);
  });

  describe('of a port whose collisions tasks ignore', () => {
    const KEY = 'port/10.0.0.1/80';
    const wants: Partial<PlacementInput> = { ports: [{ ip: '10.0.0.1', value: 80, ignoreCollision: true }] };
    const two = [holding('a', wants), holding('b', wants)];
    const passing = accountWith(SPEC, [placementOf('a', wants), placementOf('b', wants)]);
    const alone: Partial<PlacementInput> = { ports: [{ ip: '10.0.0.1', value: 80 }] };

    it('is none if they share it, whether one has it for itself or nobody has', () => {
      expect(driftOf(passing, two)).toEqual([]);
      const beside = accountWith(
        SPEC,
        ['a', 'b'].map((task) => placementOf(task, wants)).concat(placementOf('c', alone)),
      );
      expect(driftOf(beside, [...two, holding('c', alone)])).toEqual([]);
    });

    it('is there if one of them does not share it', () => {
      const drifted = accountWith(SPEC, [placementOf('a', wants)]);
      expect(driftOf({ ...drifted, free: passing.free }, two)).toEqual([
        { at: `sharers.${KEY}`, stored: 'a', expected: 'a, b', mendable: true },
      ]);
    });

    it('is there if one claims it for itself and does not hold it', () => {
      const drift = driftOf(passing, [...two, holding('c', alone)]).filter(({ at }) => at.startsWith('claims.'));
      expect(drift).toMatchObject([{ stored: 'nobody', expected: 'c', mendable: true }]);
    });

    it('is there, and mended, if one of them is its holder, and the other nothing, as an earlier version has it', () => {
      const empty = accountWith(SPEC);
      const old = claim({ ...empty, free: passing.free }, KEY, 'a');
      expect(driftOf(old, two)).toEqual([
        { at: `claims.${KEY}`, stored: 'a', expected: 'nobody', mendable: true },
        { at: `sharers.${KEY}`, stored: 'nobody', expected: 'a, b', mendable: true },
      ]);
      expect(mended(old, two)).toEqual({ ...passing, version: passing.version + 1 });
    });
  });

  it('cannot be mended where two tasks claim what is one’s alone', () => {
    const wants: Partial<PlacementInput> = { devices: ['gpu'] };
    const both = [holding('a', wants), holding('b', wants)];
    const drifted = accountWith(SPEC, [placementOf('a', wants), placementOf('b', wants)]);
    expect(driftOf(drifted, both)).toEqual([
      { at: 'claims.device/gpu', stored: 'b', expected: 'one of a, b: stop the others', mendable: false },
    ]);
    expect(mended(drifted, both).claims.get('device/gpu' as ClaimKey)).toBe('b');
  });

  it('cannot be mended where a single writer has company', () => {
    const holdings = [
      holding('writer', { volumes: [{ source: 'data', mode: 'single-writer' }] }),
      holding('reader', { volumes: [{ source: 'data', mode: 'reader-only' }] }),
    ];
    const drifted = accountWith(SPEC, [
      placementOf('writer', { volumes: [{ source: 'data', mode: 'single-writer' }] }),
      placementOf('reader', { volumes: [{ source: 'data', mode: 'reader-only' }] }),
    ]);
    expect(driftOf(drifted, holdings)).toMatchObject([{ at: 'sharers.volume/data', mendable: false }]);
  });
});

describe('an account that is mended', () => {
  it('keeps what the node lists, and what it withdraws', () => {
    const spec = { ...SPEC, reservedPorts: '22', devices: [{ id: 'gpu', healthy: false }] };
    const image = mended(accountWith(spec, [placementOf('ghost', { ...WEB, devices: ['gpu'] })]), []);
    const fresh = accountWith(spec);
    expect(image).toEqual({ ...fresh, version: fresh.version + 1 });
    expect([...image.claims]).toEqual([
      ['core/0', FREE],
      ['core/1', FREE],
      ['device/gpu', FREE],
    ]);
  });

  it('has no drift, whatever it was before and whatever its tasks hold', () => {
    const task = fc.record({
      cpu: fc.integer({ min: 0, max: 2000 }),
      core: fc.boolean(),
      port: fc.constantFrom('none', 'alone', 'ignoring'),
      volume: fc.constantFrom('none', 'reader-only', 'multi-writer'),
    });
    const wantsOf = (of: { cpu: number; core: boolean; port: string; volume: string }, at: number) => ({
      resources: { cpu: of.cpu },
      // Each task a core and a port of its own where it wants one for itself: two of them would be no drift but a fault.
      cores: of.core ? [at] : [],
      ports: [
        ...(of.port === 'alone' ? [{ ip: '10.0.0.1', value: 8000 + at }] : []),
        ...(of.port === 'ignoring' ? [{ ip: '10.0.0.1', value: 80, ignoreCollision: true }] : []),
      ],
      volumes: of.volume === 'none' ? [] : [{ source: 'data', mode: of.volume as 'reader-only' }],
    });
    fc.assert(
      fc.property(fc.array(task, { maxLength: 6 }), fc.array(task, { maxLength: 6 }), (ghosts, real) => {
        const before = accountWith(
          { capacity: { cpu: 1000 }, cores: [0, 1, 2, 3, 4, 5] },
          ghosts.map((of, at) => placementOf(`ghost-${at}`, wantsOf(of, at))),
        );
        const holdings = real.map((of, at) => holdingOf(placementOf(`real-${at}`, wantsOf(of, at))));
        const image = mended(before, holdings);
        expect(driftOf(image, holdings)).toEqual([]);
        expect(image.version).toBe(before.version + 1);
      }),
    );
  });
});
