import type { Whereabouts } from '../scaler/observation.ts';
import type { Provider } from '../scaler/ports.ts';
import type { GameServerNodeSpec } from '../scaler/spec/spec.ts';
import { NamedGroupSource } from './asg.ts';
import { AwsCalls } from './aws-calls.ts';
import { ClusterGroups } from './cluster-groups.ts';
import type { ProviderContext } from './context.ts';
import { CustomProvider, type HooksWithoutSize } from './custom.ts';
import { NodegroupSource } from './eks.ts';
import { minikube } from './minikube.ts';
import { type GroupSource, ScalingGroupProvider } from './scaling-group-provider.ts';

/**
 * The providers of a cluster's objects, for one tick: what is asked once for all of them is kept until it is over. The
 * spec's provider must be settled: `auto` throws.
 */
export function providersOf(context: ProviderContext): (object: string, spec: GameServerNodeSpec) => Provider {
  const { cluster, clock } = context;
  const calls = new AwsCalls(context);
  const groups = new ClusterGroups(calls);
  const withoutSize: HooksWithoutSize = new Set();
  return (object, spec) => {
    const { provider, config } = spec;
    const scaling = (source: GroupSource) => new ScalingGroupProvider(calls, source, { cluster, config }, clock);
    switch (provider) {
      case 'eks':
        return scaling(new NodegroupSource(calls, groups, { cluster, nodegroup: config.nodegroup ?? '' }));
      case 'asg':
        return scaling(new NamedGroupSource(calls, groups, config.autoScalingGroup ?? ''));
      case 'minikube':
        return minikube;
      case 'custom':
        return new CustomProvider(context, object, spec, withoutSize);
      case 'auto':
        throw new Error(`the provider of ${object} is still auto: find out which it is first`);
    }
  };
}

/** Where instances are that were of some group: `elsewhere`, in one, or `gone`, in none any more. Throws CallError. */
export async function locateMachines(
  context: ProviderContext,
  instances: readonly string[],
): Promise<ReadonlyMap<string, Whereabouts>> {
  const found = new Set((await new AwsCalls(context).instances(instances)).map(({ InstanceId }) => InstanceId));
  return new Map(instances.map((instance) => [instance, found.has(instance) ? 'elsewhere' : 'gone']));
}
