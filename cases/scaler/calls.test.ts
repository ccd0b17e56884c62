import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { callDifferences } from './calls.ts';
import { type ScalerCase, scalerCaseOf } from './case.ts';

const FILE = new URL('../../test/cases/node-scaler.json', import.meta.url);

const CASES = (JSON.parse(readFileSync(FILE, 'utf8')) as { readonly id: string; readonly callLevel?: boolean }[])
  .filter(({ callLevel }) => callLevel === true)
  .map((content) => {
    const read = scalerCaseOf(content);
    if ('problems' in read) throw new Error(read.problems.join('; '));
    return read.data;
  });

function caseOf(id: string): ScalerCase {
  const found = CASES.find((one) => one.id.startsWith(id));
  if (found === undefined) throw new Error(`no case ${id}`);
  return found;
}

describe('the calls of one provider', () => {
  it.each(['pa-02', 'pa-03', 'pa-04', 'pa-11'])('%s', async (id) => {
    expect(await callDifferences(caseOf(id))).toEqual([]);
  });

  it.each([
    ['pa-06', 'gke'],
    ['pa-07', 'aks'],
  ])('%s is of a provider that there is not', async (id, kind) => {
    expect(await callDifferences(caseOf(id))).toEqual([expect.stringContaining(`no provider ${kind}`)]);
  });
});

describe('a case that does not hold', () => {
  const differing = (id: string, expected: object) => {
    const one = caseOf(id);
    return callDifferences({ ...one, expect: { ...one.expect, ...expected } });
  };

  it.each([
    ['pa-02', { errors: [] }, /^errors: /],
    ['pa-03', { apiCalls: [{ service: 'eks', op: 'DescribeNodegroup' }] }, /^apiCalls: /],
    ['pa-04', { apiCalls: [] }, /^apiCalls: /],
    ['pa-04', { forbiddenCalls: ['autoscaling:DescribeAutoScalingInstances'] }, /^forbidden calls: /],
    ['pa-11', { grpcCalls: [{ path: '/GameServerNode/Remove', message: {} }] }, /^grpcCalls: /],
    ['pa-11', { isValid: false }, /^isValid: /],
  ] as const)('%s with %o says so', async (id, expected, problem) => {
    expect(await differing(id, expected)).toEqual([expect.stringMatching(problem)]);
  });

  it('says which parameter differs', async () => {
    const apiCalls = [
      { service: 'autoscaling', op: 'DescribeAutoScalingInstances', params: { InstanceIds: [] } },
      { service: 'autoscaling', op: 'TerminateInstanceInAutoScalingGroup' },
      { service: 'autoscaling', op: 'TerminateInstanceInAutoScalingGroup' },
    ];
    expect(await differing('pa-04', { apiCalls })).toEqual([
      expect.stringMatching(/^DescribeAutoScalingInstances\.InstanceIds: expected \[\]/),
    ]);
  });

  it('says what of it is no case', async () => {
    expect(await differing('pa-04', { somethingElse: 1 })).not.toEqual([]);
  });
});
