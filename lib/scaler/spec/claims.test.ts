import { describe, expect, it } from 'vitest';
import { cronTimes } from '../../cron/croner.ts';
import { claimIn, readSpec, selectorOf } from './spec.ts';

describe('what a spec that is wrong claims', () => {
  it.each([
    [
      { provider: 'eks', config: { nodegroup: 'a', other: 'x', pool: 'p' } },
      { provider: 'eks', config: { nodegroup: 'a' } },
    ],
    [
      { provider: 'asg', config: { autoScalingGroup: 'a' } },
      { provider: 'asg', config: { autoScalingGroup: 'a' } },
    ],
    [
      { provider: 'gke', config: { nodeSelector: 'a=1' } },
      { provider: 'auto', config: { nodeSelector: 'a=1' } },
    ],
    [{ config: { nodegroup: 'a', nodeSelector: 7 } }, { provider: 'auto', config: { nodegroup: 'a' } }],
    [
      { config: { nodegroup: 'a', nodeSelector: ' ' } },
      { provider: 'auto', config: { nodegroup: 'a', nodeSelector: ' ' } },
    ],
    [{ config: { nodegroup: ' ', autoScalingGroup: '' } }, undefined],
    [{ config: { pool: 'p' } }, undefined],
    [{ config: 'nodegroup' }, undefined],
    [null, undefined],
  ])('of %o is %o', (input, claim) => {
    expect(claimIn(input)).toEqual(claim);
  });
});

describe('a selector', () => {
  it.each([
    ['a=1', { a: '1' }],
    [' a == 1 , b.c/d=x_y ', { a: '1', 'b.c/d': 'x_y' }],
    ['a=', { a: '' }],
  ])('"%s" is %o', (selector, labels) => {
    expect(Object.fromEntries(selectorOf(selector) ?? [])).toEqual(labels);
  });

  it.each(['!a=1', 'a!=1', 'a===1', 'a=1!', 'a=b c', 'a 1', '!', 'a=1,'])('"%s" is none', (selector) => {
    expect(selectorOf(selector)).toBeUndefined();
  });

  it('that is left out selects every node', () => {
    expect(selectorOf(undefined)?.size).toBe(0);
  });
});

describe('config', () => {
  const PEM = 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t';
  const read = (provider: string, config: object, more: object = {}) =>
    readSpec({ replicas: 1, provider, config, ...more }, cronTimes);
  const problemOf = (...of: Parameters<typeof read>) => {
    const outcome = read(...of);
    return 'problems' in outcome ? outcome.problems.map(({ path, message }) => `${path}: ${message}`) : [];
  };

  it('of a hook is its own affair, with what names a group elsewhere', () => {
    const grpcHook = { address: 'hook.example:443', caBundle: PEM };
    expect(problemOf('custom', { nodegroup: 'a', autoScalingGroup: 'b' }, { grpcHook })).toEqual([]);
  });

  it('of auto names one group, and may name none', () => {
    expect(problemOf('auto', {})).toEqual([]);
    expect(problemOf('auto', { nodegroup: 'a', autoScalingGroup: 'b' })).toEqual([
      'spec.config.autoScalingGroup: expected one of nodegroup and autoScalingGroup, got both',
    ]);
  });

  it('of a provider of one kind of group is refused once for the other', () => {
    expect(problemOf('eks', { nodegroup: 'a', autoScalingGroup: 'b' })).toEqual([
      'spec.config.autoScalingGroup: is not for provider eks: take it out, or change provider',
    ]);
    expect(problemOf('eks', { nodegroup: '' })).toEqual([
      'spec.config.nodegroup: expected the name of a managed node group, it is missing',
    ]);
  });

  it('has a pool of Berth by a name that can be one', () => {
    expect(problemOf('eks', { nodegroup: 'a', pool: 'no pool' })).toEqual([
      'spec.config.pool: expected the name of a pool of Berth',
    ]);
  });

  it.each(['untrue', 'true!', 'falsely', 'TRUE'])('has no %s for whether nodes are replaced', (replaceIneligible) => {
    expect(problemOf('eks', { nodegroup: 'a', pool: 'p', replaceIneligible })).toEqual([
      'spec.config.replaceIneligible: expected "true" or "false"',
    ]);
  });

  it('is told of alone where the provider is no word for one', () => {
    expect(read('gke', {})).toMatchObject({ reason: 'UnknownProvider' });
    for (const more of [{ replicas: -1 }, { overrides: 7 }]) {
      expect(read('gke', {}, more)).toMatchObject({ reason: 'InvalidSpec' });
    }
  });
});
