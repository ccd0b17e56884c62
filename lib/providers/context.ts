import type { AutoScalingClient } from '@aws-sdk/client-auto-scaling';
import type { EKSClient } from '@aws-sdk/client-eks';
import type { Clock } from '../time.ts';

/** The cluster whose pools are looked after, and the outside as its providers reach it. */
export interface ProviderContext {
  /** Name of the cluster, as EKS has it. */
  readonly cluster: string;
  readonly eks: EKSClient;
  readonly autoScaling: AutoScalingClient;
  /** The host at which a Service of the cluster is reached from outside; undefined: it has none. */
  resolveService(service: HookService): Promise<string | undefined>;
  readonly clock: Clock;
  /** Gives up what is under way. */
  readonly signal?: AbortSignal;
}

export interface HookService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}
