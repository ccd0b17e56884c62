import { describe, expect, it } from 'vitest';
import { placementOf } from '../../test/support/builders.ts';
import { isId } from '../ids.ts';
import { claimsOf, claimsWithout, FREE, isListed } from './claims.ts';

describe('claimsOf', () => {
  it('names everything that a task holds beside amounts', () => {
    const task = placementOf('t1', {
      cores: [3],
      ports: [
        { ip: '10.0.0.5', value: 8080 },
        { ip: '::1', value: 53, ignoreCollision: true },
      ],
      devices: ['nvidia/gpu/1080ti/gpu-0'],
      volumes: [
        { source: 'data', mode: 'single-writer' },
        { source: 'logs', mode: 'multi-writer' },
        { source: 'etc', mode: 'reader-only' },
      ],
    });
    expect(claimsOf(task).map(({ key, kind, mode }) => [key, kind, mode])).toEqual([
      ['core/3', 'core', 'exclusive'],
      ['port/10.0.0.5/8080', 'port', 'exclusive'],
      ['port/::1/53', 'port', 'ignoring'],
      ['device/nvidia/gpu/1080ti/gpu-0', 'device', 'exclusive'],
      ['volume/data', 'volume', 'exclusive'],
      ['volume/logs', 'volume', 'shared'],
      ['volume/etc', 'volume', 'shared'],
    ]);
  });

  it('tells things of different kinds apart, whatever they are called', () => {
    const task = placementOf('t1', {
      cores: [0],
      ports: [{ ip: '0', value: 0 }],
      devices: ['0'],
      volumes: [{ source: '0', mode: 'single-writer' }],
    });
    expect(new Set(claimsOf(task).map(({ key }) => key)).size).toBe(4);
  });

  it('tells ports of addresses apart that look like one with another port', () => {
    const ports = [
      { ip: 'a', value: 1 },
      { ip: 'a/1', value: 1 },
      { ip: 'a/1/1', value: 1 },
    ];
    expect(new Set(claimsOf(placementOf('t1', { ports })).map(({ key }) => key)).size).toBe(3);
  });
});

describe('claimsWithout', () => {
  const claims = (ports: readonly [number, boolean][]) =>
    claimsOf(
      placementOf('t1', { ports: ports.map(([value, ignoreCollision]) => ({ ip: 'a', value, ignoreCollision })) }),
    );

  it('leaves what is in the others, a claim of another mode being another', () => {
    const left = claimsWithout(
      claims([
        [80, false],
        [81, true],
        [82, false],
      ]),
      claims([
        [80, false],
        [81, false],
      ]),
    );
    expect(left.map(({ key, mode }) => [key, mode])).toEqual([
      ['port/a/81', 'ignoring'],
      ['port/a/82', 'exclusive'],
    ]);
  });
});

describe('a claim that nobody holds', () => {
  it('has a holder that no task can be', () => {
    expect(isId(FREE)).toBe(false);
  });

  it('is written down for cores and devices alone, which the node lists', () => {
    expect(['core/1', 'device/d', 'port/a/1', 'volume/core/1'].map(isListed)).toEqual([true, true, false, false]);
  });
});
