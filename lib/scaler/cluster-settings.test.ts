import { describe, expect, test } from 'vitest';
import { clusterIdOf, readClusters } from './cluster-settings.ts';

const GAME = { name: 'game', region: 'eu-central-1' };
const ROLE = 'arn:aws:iam::111122223333:role/x';

describe('the clusters of a deployment', () => {
  test('are read from a list, or from one as JSON, with what is left out filled in', () => {
    const roleArn = 'arn:aws-us-gov:iam::111122223333:role/path/Berth+scaler@x';
    const lists = [GAME, { ...GAME, region: 'us-gov-west-1', roleArn, autoScalingGroups: ['pool-a', 'a/b(c)@[d]'] }];
    const expected = { clusters: [{ ...GAME, autoScalingGroups: [] }, lists[1]] };
    expect(readClusters(lists)).toEqual(expected);
    expect(readClusters(JSON.stringify(lists))).toEqual(expected);
    expect(readClusters([])).toEqual({ clusters: [] });
  });

  test('are known by region and name, whatever role they are reached by', () => {
    expect(clusterIdOf({ ...GAME })).toBe('eu-central-1/game');
  });

  test.each<[what: string, input: unknown, path: string, says: string]>([
    ['no JSON', '[{', '', 'expected a list of clusters as JSON, got "[{"'],
    ['no list', { name: 'game' }, '', 'expected a list of clusters, got an object'],
    ['a name that EKS does not take', [{ ...GAME, name: '-game' }], '[0].name', 'got "-game"'],
    ['a name that is too long', [{ ...GAME, name: 'g'.repeat(101) }], '[0].name', '1 to 100 letters'],
    ['no region', [{ name: 'game' }], '[0].region', 'expected a region such as eu-central-1, it is missing'],
    ['a zone', [{ ...GAME, region: 'eu-central-1a' }], '[0].region', 'got "eu-central-1a"'],
    ['no role', [GAME, { name: 'b', region: 'eu-west-1', roleArn: 'arn:aws:iam::1:user/x' }], '[1].roleArn', 'role/'],
    ['a field that is unknown', [{ ...GAME, cluster: 'x' }], '[0].cluster', 'unknown field'],
    ['a group that stands for all', [{ ...GAME, autoScalingGroups: ['*'] }], '[0].autoScalingGroups[0]', 'got "*"'],
    ['a group with a variable', [{ ...GAME, autoScalingGroups: ['a$b'] }], '[0].autoScalingGroups[0]', '$'],
    ['a group of one question', [{ ...GAME, autoScalingGroups: ['a?'] }], '[0].autoScalingGroups[0]', '?'],
    ['a group with a colon', [{ ...GAME, autoScalingGroups: ['a:b'] }], '[0].autoScalingGroups[0]', ':'],
    ['a group with a blank', [{ ...GAME, autoScalingGroups: ['a b'] }], '[0].autoScalingGroups[0]', 'blanks'],
    [
      'groups past the bound',
      [{ ...GAME, autoScalingGroups: Array(11).fill('a') }],
      '[0].autoScalingGroups',
      'at most 10 entries',
    ],
    ['one cluster twice', [GAME, { ...GAME, roleArn: ROLE }], '[1].name', 'eu-central-1/game stands at [0] already'],
    [
      'clusters past the bound',
      Array.from({ length: 26 }, (_, at) => ({ ...GAME, name: `c${at}` })),
      '',
      'at most 25 clusters',
    ],
    [
      'more than an environment holds',
      [
        { ...GAME, autoScalingGroups: Array.from({ length: 10 }, () => 'g'.repeat(255)) },
        { ...GAME, name: 'b' },
      ].concat({ ...GAME, name: 'c', autoScalingGroups: ['g'.repeat(255)] }),
      '',
      'has room for 3000',
    ],
  ])('are refused: %s', (_, input, path, says) => {
    const read = readClusters(input);
    expect(read).toEqual({ problems: [{ path, message: expect.stringContaining(says) }] });
  });
});
