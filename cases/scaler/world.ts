import { CallError } from '../../lib/scaler/call-error.ts';
import type {
  Group,
  Ledger,
  ObservedGameServer,
  ObservedNode,
  ObservedPod,
  Whereabouts,
} from '../../lib/scaler/observation.ts';
import { isProtected, isRunningGamePod } from '../../lib/scaler/pool/agones.ts';
import { lifeOf } from '../../lib/scaler/pool/classes.ts';
import { isMarkedBy } from '../../lib/scaler/pool/marks.ts';
import { instanceOf } from '../../lib/scaler/pool/membership.ts';
import type { Cluster, LedgerStore, NodePatch, Provider } from '../../lib/scaler/ports.ts';
import type { Problem } from '../../lib/schema.ts';
import { ScalerLog } from './log.ts';

/** One call of the scaler to the world. */
export interface WorldCall {
  readonly operation:
    | 'snapshot'
    | 'readNode'
    | 'podsOn'
    | 'listGameServers'
    | 'readGameServer'
    | 'cordon'
    | 'uncordon'
    | 'annotate'
    | 'deleteGameServer'
    | 'deleteNode'
    | 'validate'
    | 'describe'
    | 'inspect'
    | 'locate'
    | 'increase'
    | 'providerDelete'
    | 'readLedger'
    | 'writeLedger'
    | 'begin'
    | 'end'
    | 'listObjects'
    | 'writeStatus'
    | 'tell';
  readonly subject: string;
}

/** Stands between the scaler and the world, and may let anything happen to a call. */
export type Intercept = <T>(call: WorldCall, act: () => T) => Promise<T>;

export type WorldKind = 'eks' | 'custom' | 'minikube';

/**
 * A cluster, a provider and a ledger in memory that follow what the scaler asks for: a deleted GameServer gets its
 * deletionTimestamp, and its pod goes on running; an ended machine is Terminating, and desired one less; an increase
 * raises desired, and no more. All else is done to it from outside. Of each change it checks that it may be made.
 */
export class ScalerWorld {
  readonly nodes = new Map<string, ObservedNode>();
  readonly pods = new Map<string, ObservedPod>();
  readonly servers = new Map<string, ObservedGameServer>();
  /** Of a world of kind eks. */
  group: Group | undefined;
  /** Instances that are of another group. */
  readonly elsewhere = new Set<string>();
  ledger: Ledger = { version: 0, pendingDeletions: [] };
  /** Machines that a hook has been asked for; whoever makes nodes of them takes them off. */
  ordered = 0;
  /** Machines that a hook has ended, by node. */
  readonly ended = new Set<string>();
  problems: readonly Problem[] = [];
  log = new ScalerLog();
  intercept: Intercept = async (_, act) => act();
  readonly #kind: WorldKind;
  readonly #object: string;
  #versions = 1_000_000;

  constructor(kind: WorldKind, object: string) {
    this.#kind = kind;
    this.#object = object;
  }

  nextVersion(): string {
    this.#versions += 1;
    return String(this.#versions);
  }

  gamePodsOn(node: string): ObservedPod[] {
    return [...this.pods.values()].filter((pod) => pod.nodeName === node && isRunningGamePod(pod));
  }

  readonly #asked: Intercept = (call, act) => this.intercept(call, act);
  readonly cluster: Cluster = this.clusterBy(this.#asked);

  readonly ledgerStore: LedgerStore = {
    read: () => this.#asked({ operation: 'readLedger', subject: this.#object }, () => this.ledger),
    write: (next) =>
      this.#asked({ operation: 'writeLedger', subject: this.#object }, () => {
        if (next.version !== this.ledger.version) throw conflict('the ledger was written meanwhile');
        this.ledger = { ...next, version: next.version + 1 };
        return this.ledger;
      }),
  };

  get provider(): Provider {
    return this.providerBy(this.#asked);
  }

  /** The cluster as one function reaches it, between which and the world `asked` stands. */
  clusterBy(asked: Intercept): Cluster {
    const call = callsBy(asked);
    return {
      snapshot: () =>
        call('snapshot', 'cluster', () => ({
          nodes: [...this.nodes.values()],
          pods: [...this.pods.values()],
          gameServers: [...this.servers.values()],
        })),
      readNode: (name) => call('readNode', name, () => this.nodes.get(name)),
      podsOn: (node) => call('podsOn', node, () => [...this.pods.values()].filter(({ nodeName }) => nodeName === node)),
      listGameServers: () => call('listGameServers', 'gameservers', () => [...this.servers.values()]),
      readGameServer: ({ namespace, name }) =>
        call('readGameServer', name, () => this.servers.get(`${namespace}/${name}`)),
      patchNode: (node, patch) => {
        const operation = patch.unschedulable === undefined ? 'annotate' : patch.unschedulable ? 'cordon' : 'uncordon';
        return call(operation, node.name, () => this.#patchNode(node, patch));
      },
      deleteGameServer: (server) => call('deleteGameServer', server.name, () => this.#deleteServer(server)),
      deleteNode: (node) => call('deleteNode', node.name, () => this.#deleteNode(node)),
    };
  }

  /** The provider as one function reaches it. */
  providerBy(asked: Intercept): Provider {
    const call = callsBy(asked);
    const object = this.#object;
    /** The group as this function has seen it last. What it asks for must be allowed by that; the service sees to the rest. */
    let seen: Group | undefined;
    const look = () => {
      seen = this.group;
      return seen;
    };
    return {
      capabilities: { readsSize: this.#kind === 'eks', changesSize: this.#kind !== 'minikube' },
      validate: () => call('validate', object, () => ({ problems: this.problems, warnings: [] })),
      describe: () => call('describe', object, look),
      inspect: () => call('inspect', object, look),
      locate: (instances) =>
        call(
          'locate',
          object,
          () => new Map(instances.map((instance): [string, Whereabouts] => [instance, this.#whereabouts(instance)])),
        ),
      increase: (order) => call('increase', object, () => this.#increase(order, seen)),
      endMachine: (machine) =>
        call('providerDelete', machine.instance ?? machine.node, () => this.#endMachine(machine, seen)),
    };
  }

  #mustBeEmpty(node: string): void {
    const games = this.gamePodsOn(node).length;
    this.log.must(games === 0, `I3: node ${node} or its machine is deleted with ${games} games on it`);
  }

  #patchNode({ name, uid, resourceVersion }: ObservedNode, { unschedulable, annotations }: NodePatch): ObservedNode {
    const node = this.nodes.get(name);
    if (node?.uid !== uid || node.resourceVersion !== resourceVersion) throw conflict(`node ${name} has changed`);
    if (unschedulable === false) {
      this.log.must(
        isMarkedBy(this.#object, node),
        `I4: node ${name} is uncordoned, and the scaler had not cordoned it`,
      );
      this.log.uncordoned.push(name);
    }
    if (unschedulable === true && !node.unschedulable) this.log.cordoned.push(name);
    this.log.changes += 1;
    const merged = Object.entries({ ...node.annotations, ...annotations }).filter((entry) => entry[1] !== null);
    const changed: ObservedNode = {
      ...node,
      unschedulable: unschedulable ?? node.unschedulable,
      annotations: Object.fromEntries(merged) as Record<string, string>,
      resourceVersion: this.nextVersion(),
    };
    this.nodes.set(name, changed);
    return changed;
  }

  #deleteServer({ namespace, name, uid, resourceVersion }: ObservedGameServer): void {
    const key = `${namespace}/${name}`;
    const server = this.servers.get(key);
    if (server === undefined) return;
    if (server.uid !== uid || server.resourceVersion !== resourceVersion) throw conflict(`server ${name} has changed`);
    const node = this.nodes.get(server.nodeName ?? '');
    // Once its node has been removed, it is on none.
    const guarded = node === undefined || (node.unschedulable && isMarkedBy(this.#object, node));
    this.log.must(guarded, `I2: server ${name} is deleted on a node that is not cordoned by the scaler`);
    this.log.must(!isProtected(server), `I1: server ${name} is deleted in state ${server.state}`);
    this.log.gameServersDeleted.push(name);
    this.log.changes += 1;
    this.servers.set(key, { ...server, deleting: true, resourceVersion: this.nextVersion() });
  }

  #deleteNode({ name, uid }: { readonly name: string; readonly uid: string }): void {
    const node = this.nodes.get(name);
    if (node === undefined) return;
    if (node.uid !== uid) throw conflict(`node ${name} is another one`);
    this.#mustBeEmpty(name);
    const instance = instanceOf(node) ?? '';
    const ends =
      this.group === undefined ? this.ended.has(name) : lifeOf(this.group.instances.get(instance)) !== 'live';
    this.log.must(ends, `node ${name} is deleted, and its machine goes on running`);
    this.log.nodesDeleted.push(name);
    this.log.changes += 1;
    this.nodes.delete(name);
  }

  #increase({ by, from }: { readonly by: number; readonly from?: number }, seen: Group | undefined): void {
    this.log.must(by > 0, `I7: an increase by ${by}`);
    if (this.group !== undefined) {
      if (from !== this.group.desired) throw conflict(`desired is ${this.group.desired}, and not ${from}`);
      const within = seen === undefined || from + by <= seen.max;
      this.log.must(within, `I5: an increase to ${from + by}, beyond the maximum of ${seen?.max}`);
      if (from + by > this.group.max) throw new CallError('refused', 'ValidationError', 'above max value');
      this.group = { ...this.group, desired: from + by };
    }
    if (this.group === undefined) this.ordered += by;
    this.log.increaseBy += by;
    this.log.changes += 1;
  }

  #endMachine(
    { node, instance }: { readonly node: string; readonly instance?: string },
    seen: Group | undefined,
  ): void {
    const going = this.#isGoing(node, instance);
    // The provider finds that out itself; a hook is asked, and does nothing.
    if (going && this.group !== undefined) return;
    const written = this.ledger.pendingDeletions.some((entry) => entry.node === node);
    if (!going) {
      this.#mustBeEmpty(node);
      this.log.must(written, `I10: the machine of ${node} is ended, and no intent was written`);
    }
    if (this.group === undefined) {
      this.ended.add(node);
    } else {
      const within = seen === undefined || seen.desired > seen.min;
      this.log.must(within, `I5: the machine of ${node} is ended at the minimum`);
      if (this.group.desired <= this.group.min) throw new CallError('refused', 'ValidationError', 'at min size');
      const instances = new Map(this.group.instances).set(instance ?? '', 'Terminating');
      this.group = { ...this.group, instances, desired: this.group.desired - 1 };
    }
    this.log.instancesDeleted.push(instance ?? node);
    this.log.changes += 1;
  }

  #isGoing(node: string, instance: string | undefined): boolean {
    if (this.group === undefined) return this.ended.has(node);
    return lifeOf(this.group.instances.get(instance ?? '')) === 'leaving';
  }

  #whereabouts(instance: string): Whereabouts {
    if (this.elsewhere.has(instance)) return 'elsewhere';
    return this.group?.instances.has(instance) ? 'here' : 'gone';
  }
}

function callsBy(asked: Intercept) {
  return <T>(operation: WorldCall['operation'], subject: string, act: () => T): Promise<T> =>
    asked({ operation, subject }, act);
}

function conflict(message: string): CallError {
  return new CallError('conflict', '409', message);
}
