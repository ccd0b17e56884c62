import type { KubeObject } from '../kubernetes/kube-object.ts';
import type { ObjectStore } from '../kubernetes/object-store.ts';
import type { Agenda } from './agenda.ts';
import type { AutoScalingGroups, EndCause } from './auto-scaling-groups.ts';
import { instanceOf, NODEGROUP_LABEL, nodeInput, type Readiness, readyCondition } from './cluster-objects.ts';
import type { Instance, ScalingGroup } from './scaling-group.ts';
import type { Timings } from './timings.ts';

/** What runs on an instance: a kubelet, once it has joined. */
export interface Machine {
  readonly instance: string;
  readonly zone: string;
  /** The private DNS name. */
  readonly node: string;
  readonly nodegroup: string | undefined;
  /** Whether its Node has been in the cluster. */
  joined: boolean;
  /** Whether its containers run; false once the machine is off. */
  running: boolean;
  /** Why it is being ended, or has ended; undefined: it is not. */
  ending?: EndCause | 'by loss';
}

export interface MachinesSettings {
  readonly cluster: string;
  readonly region: string;
  readonly store: ObjectStore;
  readonly groups: AutoScalingGroups;
  readonly agenda: Agenda;
  readonly timings: Timings;
  /** Whether a name that has become free is the next machine's, as private DNS names are. */
  readonly reuseNames: boolean;
}

/** The machines of one cluster: instances of its groups as they start, join, and end, and their Nodes. */
export class Machines {
  readonly #settings: MachinesSettings;
  readonly #machines = new Map<string, Machine>();
  readonly #offListeners: ((machine: Machine) => void)[] = [];
  #names = 0;
  readonly #freeNames: string[] = [];
  #failingJoins = 0;

  constructor(settings: MachinesSettings) {
    this.#settings = settings;
    settings.groups.listen({
      launched: (group, instance) => this.#launched(group, instance),
      terminating: (_, instance, cause) => this.#terminating(instance, cause),
    });
  }

  list(): Machine[] {
    return [...this.#machines.values()];
  }

  get(instance: string): Machine | undefined {
    return this.#machines.get(instance);
  }

  /** The machine that a Node is on; undefined: none that is known here, or of another cluster. */
  of(node: KubeObject): Machine | undefined {
    return this.#machines.get(instanceOf(node) ?? '');
  }

  /** Whether containers run on the machine of a Node; of a Node that is none of these machines', they do. */
  isRunning(node: string): boolean {
    const those = this.list().filter((machine) => machine.node === node);
    return those.length === 0 || those.some(({ running }) => running);
  }

  /** Called when a machine is off, with what ran on it. */
  onOff(listener: (machine: Machine) => void): void {
    this.#offListeners.push(listener);
  }

  /** Takes over a machine whose Node is there already. */
  adopt(node: KubeObject): void {
    const instance = instanceOf(node);
    if (instance === undefined || this.#machines.has(instance)) return;
    const zone = node.spec.providerID.split('/')[3] ?? '';
    const nodegroup = node.metadata.labels?.[NODEGROUP_LABEL];
    this.#machines.set(instance, { instance, zone, node: node.metadata.name, nodegroup, joined: true, running: true });
  }

  /** The next `count` machines that start never join. */
  failNextJoins(count: number): void {
    this.#failingJoins = count;
  }

  /** A machine fails, with all that runs on it. Its group finds out later. */
  lose(instance: string): void {
    const machine = this.#known(instance);
    machine.ending ??= 'by loss';
    this.#turnOff(machine);
    this.#settings.agenda.after(this.#settings.timings.healthCheckSeconds, () => {
      this.#settings.groups.replaceUnhealthy(instance);
    });
  }

  /** A kubelet tells that it is ready, or not, or nothing any more; games go on. */
  setReady(instance: string, ready: Readiness): void {
    const { node } = this.#known(instance);
    this.#writeReady(node, ready);
  }

  #known(instance: string): Machine {
    const machine = this.#machines.get(instance);
    if (machine === undefined) throw new Error(`there is no machine ${instance} in cluster ${this.#settings.cluster}`);
    return machine;
  }

  #launched(group: ScalingGroup, { id, zone }: Instance): void {
    const { cluster, agenda, timings, groups } = this.#settings;
    if (group.cluster !== cluster) return;
    const node = this.#freeNames.shift() ?? this.#newName();
    const machine: Machine = { instance: id, zone, node, nodegroup: group.nodegroup, joined: false, running: true };
    this.#machines.set(id, machine);
    agenda.after(timings.launchSeconds, () => groups.enterService(id));
    if (this.#failingJoins > 0) this.#failingJoins -= 1;
    else agenda.after(timings.joinSeconds, () => this.#join(machine));
  }

  #newName(): string {
    this.#names += 1;
    const number = this.#names;
    return `ip-10-0-${number >> 8}-${number & 255}.${this.#settings.region}.compute.internal`;
  }

  #join(machine: Machine): void {
    if (!machine.running) return;
    const { store, agenda, timings } = this.#settings;
    const { node, instance, zone, nodegroup } = machine;
    machine.joined = true;
    // A kubelet takes over a Node of its name as it is: its cordon, its annotations, even its providerID.
    if (store.get('nodes', node) === undefined) {
      const providerId = `aws:///${zone}/${instance}`;
      store.create('nodes', nodeInput({ name: node, providerId, zone, ready: false, ...(nodegroup && { nodegroup }) }));
    }
    agenda.after(timings.nodeReadySeconds, () => {
      if (machine.running) this.#writeReady(node, 'True');
    });
  }

  #terminating({ id }: Instance, cause: EndCause): void {
    const machine = this.#machines.get(id);
    const { agenda, timings, groups, cluster } = this.#settings;
    if (machine !== undefined) machine.ending ??= cause;
    // Of one that a scene has put into a group nothing is known, and it has to leave all the same.
    else if (groups.find(id)?.group.cluster !== cluster) return;
    agenda.after(timings.terminateSeconds, () => {
      groups.remove(id);
      if (machine?.running) this.#turnOff(machine);
    });
  }

  #turnOff(machine: Machine): void {
    if (!machine.running) return;
    const { agenda, timings, reuseNames } = this.#settings;
    machine.running = false;
    for (const listener of this.#offListeners) listener(machine);
    agenda.after(timings.leaseSeconds, () => {
      const taken = this.list().some(({ node, joined, running }) => node === machine.node && joined && running);
      if (this.#isOfNode(machine) && !taken) this.#writeReady(machine.node, 'Unknown');
    });
    agenda.after(timings.nodeRemovalSeconds, () => this.#removeNode(machine));
    if (reuseNames) this.#freeNames.push(machine.node);
  }

  /** As the cloud controller does, which goes by the providerID and waits until EC2 no longer has the instance. */
  #removeNode(machine: Machine): void {
    const { agenda, groups, store, timings } = this.#settings;
    if (groups.find(machine.instance) !== undefined) {
      agenda.after(timings.nodeRemovalSeconds, () => this.#removeNode(machine));
    } else if (this.#isOfNode(machine)) {
      store.delete('nodes', machine.node);
    }
  }

  #isOfNode({ node, instance }: Machine): boolean {
    const object = this.#settings.store.get('nodes', node);
    return object !== undefined && instanceOf(object) === instance;
  }

  #writeReady(name: string, ready: Readiness): void {
    const { store } = this.#settings;
    const node = store.get('nodes', name);
    if (node === undefined) return;
    const others = ((node.status?.conditions ?? []) as { type: string }[]).filter(({ type }) => type !== 'Ready');
    store.updateStatus('nodes', {
      ...node,
      status: { ...node.status, conditions: [...others, readyCondition(ready)] },
    });
  }
}
