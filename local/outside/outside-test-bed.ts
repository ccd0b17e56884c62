import {
  AutoScalingClient,
  type AutoScalingGroup,
  DescribeAutoScalingGroupsCommand,
  SetDesiredCapacityCommand,
  TerminateInstanceInAutoScalingGroupCommand,
} from '@aws-sdk/client-auto-scaling';
import { EKSClient } from '@aws-sdk/client-eks';
import { afterEach, beforeEach } from 'vitest';
import type { KubernetesApi } from '../../lib/kubernetes/api.ts';
import { clusterOf } from '../../lib/kubernetes/cluster.ts';
import { connectToEks } from '../../lib/kubernetes/eks.ts';
import type { ObservedNode } from '../../lib/scaler/observation.ts';
import type { Cluster } from '../../lib/scaler/ports.ts';
import type { EpochMs } from '../../lib/time.ts';
import { MovableClock } from '../functions/movable-clock.ts';
import { type Outside, type OutsideSettings, startOutside } from './outside.ts';

export const START = Date.parse('2026-01-15T12:00:00Z') as EpochMs;
/** A cluster with this lets the scaler in. */
export const access = { secretOf: (id: string) => (id === 'scaler' ? 'secret' : undefined) };

const CREDENTIALS = { accessKeyId: 'scaler', secretAccessKey: 'secret' };

/** The simulated outside at a time that passes when a test says so, and the clients by which a scaler reaches it. */
export class OutsideTestBed {
  outside!: Outside;
  eks!: EKSClient;
  readonly #clock = new MovableClock();
  readonly #apis: KubernetesApi[] = [];
  #autoScaling!: AutoScalingClient;

  /** Makes one for every test of the file, and ends what it started. */
  static use(): OutsideTestBed {
    const bed = new OutsideTestBed();
    beforeEach(() => bed.#clock.set(START));
    afterEach(() => bed.stop());
    return bed;
  }

  async start(settings: Omit<OutsideSettings, 'clock'>): Promise<void> {
    this.outside = await startOutside({ clock: () => this.#clock.now(), seed: 'test', ...settings });
    const { endpoints } = this.outside;
    this.eks = new EKSClient({ endpoint: endpoints.eks, maxAttempts: 1 });
    this.#autoScaling = new AutoScalingClient({ endpoint: endpoints.autoScaling, maxAttempts: 1 });
  }

  async stop(): Promise<void> {
    for (const api of this.#apis.splice(0)) api.close();
    this.eks.destroy();
    this.#autoScaling.destroy();
    await this.outside.close();
  }

  /** The cluster as a scaler sees it that finds it by EKS. */
  async connect(cluster = 'game', credentials = CREDENTIALS): Promise<Cluster> {
    const { eks } = this;
    const api = await connectToEks({
      cluster,
      region: 'eu-central-1',
      eks,
      credentials,
      clock: () => this.#clock.now(),
    });
    this.#apis.push(api);
    return clusterOf(api);
  }

  pass(seconds: number): void {
    this.#clock.set((this.#clock.now() + seconds * 1000) as EpochMs);
  }

  async group(name: string): Promise<AutoScalingGroup | undefined> {
    const input = { AutoScalingGroupNames: [name] };
    const { AutoScalingGroups } = await this.#autoScaling.send(new DescribeAutoScalingGroupsCommand(input));
    return AutoScalingGroups?.[0];
  }

  setDesired(name: string, desired: number) {
    const input = { AutoScalingGroupName: name, DesiredCapacity: desired };
    return this.#autoScaling.send(new SetDesiredCapacityCommand(input));
  }

  terminate(id: string) {
    const input = { InstanceId: id, ShouldDecrementDesiredCapacity: true };
    return this.#autoScaling.send(new TerminateInstanceInAutoScalingGroupCommand(input));
  }
}

export const instanceOf = ({ providerId }: ObservedNode) => providerId.split('/').at(-1) ?? '';
export const cordon = (cluster: Cluster, node: ObservedNode) =>
  cluster.patchNode(node, { unschedulable: true, annotations: {} });
