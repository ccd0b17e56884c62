import { groupNamed, managedTags, RecordedAws } from '../../cases/scaler/recorded-aws.ts';
import { cronTimes } from '../../lib/cron/croner.ts';
import type { ProviderContext } from '../../lib/providers/context.ts';
import { providersOf } from '../../lib/providers/providers.ts';
import type { Provider } from '../../lib/scaler/ports.ts';
import { type GameServerNodeSpec, readSpec } from '../../lib/scaler/spec/spec.ts';
import type { EpochMs } from '../../lib/time.ts';

export const NOW = Date.parse('2026-01-15T12:00:00Z') as EpochMs;

/** The outside of the cluster `game`, as its providers reach it. */
export function contextOf({ eks, autoScaling }: RecordedAws): ProviderContext {
  return { cluster: 'game', eks, autoScaling, resolveService: async () => undefined, clock: () => NOW };
}

/** The spec of a pool of one node. */
export function specOf(fields: object): GameServerNodeSpec {
  const read = readSpec({ replicas: 1, ...fields }, cronTimes);
  if (!('spec' in read)) throw new Error(JSON.stringify(read.problems));
  return read.spec;
}

const providerOf = (aws: RecordedAws, fields: object): Provider => providersOf(contextOf(aws))('game', specOf(fields));

/** The provider of the node group `fast`, unless `config` says otherwise. */
export const eks = (aws: RecordedAws, config: object = {}) =>
  providerOf(aws, { provider: 'eks', config: { nodegroup: 'fast', ...config } });
/** The provider of the group `own`. */
export const asg = (aws: RecordedAws) => providerOf(aws, { provider: 'asg', config: { autoScalingGroup: 'own' } });

/** A node group `fast` that runs two machines of at most four, and a group `own` that is nobody's but ours. */
export function world(more: Parameters<typeof groupNamed>[2] = {}): RecordedAws {
  const aws = new RecordedAws();
  aws.groups.set(
    'eks-fast',
    groupNamed(
      'eks-fast',
      { 'i-1': 'InService', 'i-2': 'InService' },
      { MinSize: 1, MaxSize: 4, Tags: managedTags('game', 'fast'), ...more },
    ),
  );
  aws.groups.set('own', groupNamed('own', { 'i-8': 'InService', 'i-9': 'Standby' }, { DesiredCapacity: 1 }));
  aws.nodegroups.set('fast', {
    nodegroupName: 'fast',
    status: 'ACTIVE',
    resources: { autoScalingGroups: [{ name: 'eks-fast' }] },
  });
  return aws;
}
