import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject } from '../../local/kubernetes/kube-object.ts';
import type { Change } from '../../local/kubernetes/object-store.ts';
import { gamePodOf, nodeInput, type PodSettings } from '../../local/outside/cluster-objects.ts';
import { type Outside, type OutsideCluster, startOutside } from '../../local/outside/outside.ts';
import type { GroupSettings, ScalingGroup } from '../../local/outside/scaling-group.ts';
import type { GameServerCase, NodeCase, PodCase, ProviderCase, ScalerCase } from './case.ts';
import { ScalerLog } from './log.ts';
import { DAEMON_SET, instanceIn, instanceOf, nodeSettings, replaced, touched } from './outside-shapes.ts';
import { at, OBJECT, type ObjectCase, observedNode } from './scene.ts';

/** The cluster that the local engine's node scaler knows. */
const CLUSTER = { name: 'local', region: 'us-east-1' } as const;

/** What a group is called where the file does not say. */
const GROUP = 'eks-of-the-case';

/**
 * The world of a case as simulated services, which the deployed function talks to over HTTP. Nothing moves by itself; what
 * requests change is noted in `log`, as the services saw it.
 */
export class OutsideWorld {
  readonly outside: Outside;
  log = new ScalerLog();
  readonly #cluster: OutsideCluster;
  readonly #now: () => EpochMs;
  #group: ScalingGroup | undefined;
  /** Desired capacity, as far as it has been told of: what the next raise is counted from. */
  #desired = 0;
  /** While something is done to the world that is none of the scaler's doing. */
  #excused = false;

  private constructor(outside: Outside, now: () => EpochMs) {
    this.outside = outside;
    this.#cluster = outside.cluster();
    this.#now = now;
    this.#cluster.store.onChange((change) => this.#changed(change));
    outside.groups.listen({
      raised: ({ desired }) => {
        this.log.increaseBy += desired - this.#desired;
        this.#desired = desired;
      },
      terminating: ({ desired }, { id }) => {
        this.log.instancesDeleted.push(id);
        this.#desired = desired;
      },
    });
  }

  /** With what the case begins with, but for its objects. `secretOf`: of an access key. */
  static async start(
    { spec, cluster, provider }: ScalerCase,
    now: () => EpochMs,
    secretOf: (accessKeyId: string) => string | undefined,
  ): Promise<OutsideWorld> {
    const clusters = [{ ...CLUSTER, access: { secretOf } }] as const;
    const world = new OutsideWorld(await startOutside({ clock: now, dynamics: false, clusters }), now);
    if (provider !== null) world.#addGroup(provider, spec);
    for (const one of cluster.nodes ?? []) world.addNode(one, spec);
    for (const one of cluster.gameServers ?? []) world.addServer(one);
    for (const one of cluster.pods ?? []) world.addPod(one);
    return world;
  }

  close(): Promise<void> {
    return this.outside.close();
  }

  /** What happens in `act` is done by somebody else than the scaler. */
  apart<T>(act: () => T): T {
    const before = this.#excused;
    this.#excused = true;
    try {
      return act();
    } finally {
      this.#excused = before;
      this.#desired = this.#group?.desired ?? 0;
    }
  }

  node(name: string): KubeObject | undefined {
    return this.#cluster.store.get('nodes', name);
  }

  /** What its object shows of itself; undefined: nothing was written. */
  status(): Record<string, unknown> | undefined {
    return this.#cluster.store.get('gameservernodes', OBJECT)?.status;
  }

  /** Writes an object, as somebody with kubectl would that checks nothing. */
  putObject({ name, createdAt, spec }: ObjectCase): void {
    this.apart(() => {
      if (this.#cluster.store.get('gameservernodes', name) !== undefined) {
        this.#cluster.scene.change('gameservernodes', name, (one) => ({ ...one, spec }));
        return;
      }
      const object = { apiVersion: 'stable.agones.dev/v1alpha1', kind: 'GameServerNode', metadata: { name }, spec };
      this.#cluster.scene.add('gameservernodes', object, { createdAt: at(createdAt) });
    });
  }

  addNode(one: NodeCase, spec: ScalerCase['spec']): void {
    this.apart(() => {
      const node = nodeSettings(observedNode(one, spec, ''), one, this.#now());
      if (this.node(one.name) === undefined) this.#cluster.scene.addNode(node);
      else this.#cluster.scene.change('nodes', one.name, (there) => replaced(there, nodeInput(node)));
      const instance = instanceOf(one);
      if (one.instanceGroup === undefined || instance === undefined) return;
      this.#groupNamed(one.instanceGroup).instances.set(instance, instanceIn(instance, 'InService', this.#now()));
    });
  }

  joinNode(one: NodeCase, spec: ScalerCase['spec']): void {
    this.addNode(one, spec);
    const instance = instanceOf(one);
    if (instance !== undefined && one.instanceGroup === undefined) this.setInstance(instance, 'InService');
  }

  addServer(one: GameServerCase): KubeObject {
    return this.apart(() =>
      this.#cluster.scene.addGameServer({
        // Cases say nothing of it: none was placed on a node that was cordoned already.
        ...{ name: one.name, state: one.state, pod: false, createdAt: at('2020-01-01T00:00:00Z') },
        ...(one.namespace === undefined ? {} : { namespace: one.namespace }),
        ...(one.node ? { node: one.node } : {}),
        ...(one.devAddress === undefined ? {} : { devAddress: one.devAddress }),
        ...(typeof one.deletionTimestamp === 'string' ? { deletedAt: at(one.deletionTimestamp) } : {}),
      }),
    );
  }

  addPod(one: PodCase): void {
    const { kind = 'game', namespace = 'default', name } = one;
    this.apart(() => {
      const game = kind === 'game' ? this.#gamePod(namespace, name) : undefined;
      const owner = kind === 'daemonset' ? DAEMON_SET : game?.owner;
      this.#cluster.scene.addPod({
        ...{ name, namespace, phase: one.phase ?? 'Running', labels: { ...game?.labels, ...one.labels } },
        ...(one.node ? { node: one.node } : {}),
        ...(owner === undefined ? {} : { owner }),
      });
      if (one.terminating) this.#cluster.scene.markDeleted('pods', name, this.#now(), namespace);
    });
  }

  /** What a pod of a game server has, whose server may be gone. */
  #gamePod(namespace: string, name: string): Pick<PodSettings, 'labels' | 'owner'> {
    const server = this.#cluster.store.get('gameservers', name, namespace);
    if (server !== undefined) return gamePodOf(server);
    const unknown = {
      apiVersion: 'agones.dev/v1',
      kind: 'GameServer',
      metadata: { name, namespace, uid: `of-${name}` },
    };
    return gamePodOf(unknown as unknown as KubeObject);
  }

  /** Takes away whatever has that name, in whichever namespace. What is gone already is gone. */
  remove(resource: 'nodes' | 'pods' | 'gameservers', name: string): void {
    this.apart(() => {
      for (const { metadata } of this.#cluster.store.list(resource)) {
        if (metadata.name === name) this.#cluster.scene.remove(resource, name, metadata.namespace);
      }
    });
  }

  changeServer(
    name: string,
    change: { readonly state?: string; readonly node?: string; readonly deletedAt?: EpochMs },
  ) {
    this.apart(() => {
      const found = this.#cluster.store.list('gameservers').find(({ metadata }) => metadata.name === name);
      if (found === undefined) throw new Error(`there is no server ${name}`);
      const { namespace } = found.metadata;
      const status = {
        ...(change.state === undefined ? {} : { state: change.state }),
        ...(change.node === undefined ? {} : { nodeName: change.node }),
      };
      this.#cluster.scene.change(
        'gameservers',
        name,
        (one) => ({ ...touched(one), status: { ...one.status, ...status } }),
        namespace,
      );
      if (change.deletedAt !== undefined) {
        this.#cluster.scene.markDeleted('gameservers', name, change.deletedAt, namespace);
      }
    });
  }

  /** Another machine comes under the name of a node. */
  replaceNode(name: string): void {
    this.apart(() => {
      const node = this.node(name);
      if (node === undefined) return;
      this.#cluster.scene.remove('nodes', name);
      const { labels = {} } = node.metadata;
      this.#cluster.scene.addNode({ name, labels, providerId: `${node.spec.providerID}f` });
    });
  }

  changeGroup(provider: ProviderCase): void {
    this.apart(() => {
      const { group } = this;
      if (group === undefined) return;
      for (const limit of ['min', 'max', 'desired'] as const) {
        const value = provider[limit];
        if (value !== undefined) group[limit] = value;
      }
      if (provider.suspendedProcesses) group.suspended = new Set(provider.suspendedProcesses);
      if (provider.instances) {
        group.instances.clear();
        for (const { id, state } of provider.instances) this.setInstance(id, state);
      }
      const nodegroup = this.#cluster.nodegroups.get(group.nodegroup ?? '');
      if (nodegroup !== undefined && provider.status !== undefined) nodegroup.status = provider.status;
    });
  }

  setInstance(id: string, state: string): void {
    const { group } = this;
    const known = group?.instances.get(id);
    if (known === undefined) group?.instances.set(id, instanceIn(id, state, this.#now()));
    else known.state = state;
  }

  dropInstance(id: string): void {
    this.group?.instances.delete(id);
  }

  /** The node group is not there any more, with all that EKS and Auto Scaling say of it. */
  dropGroup(): void {
    const { group } = this;
    if (group?.nodegroup === undefined) return;
    this.#cluster.nodegroups.delete(group.nodegroup);
    (group.tags as Map<string, string>).delete('eks:nodegroup-name');
  }

  get group(): ScalingGroup | undefined {
    return this.#group;
  }

  #addGroup(provider: ProviderCase, spec: ScalerCase['spec']): void {
    const { nodegroup = 'gameserver', autoScalingGroup } = (spec.config ?? {}) as Record<string, string | undefined>;
    const { min = 0, max = 0, desired = 0, instances = [], suspendedProcesses = [], activities = [] } = provider;
    const guarded = provider.protectedFromScaleIn ?? [];
    const settings: GroupSettings = {
      ...{ name: autoScalingGroup ?? GROUP, min, max, desired, suspended: suspendedProcesses },
      instances: instances.map(({ id, state }) => ({ id, state, protectedFromScaleIn: guarded.includes(id) })),
      activities: activities.map(({ status, message }) => ({
        status: status as 'Failed',
        ...(message === undefined ? {} : { message }),
      })),
    };
    if (autoScalingGroup === undefined) {
      const status = provider.status ?? 'ACTIVE';
      this.#cluster.addNodegroup({ ...settings, name: nodegroup, group: settings.name, status });
    } else {
      this.outside.groups.add({ ...settings, cluster: CLUSTER.name });
    }
    this.#group = this.outside.groups.get(settings.name);
    this.#desired = desired;
  }

  #groupNamed(name: string): ScalingGroup {
    return this.outside.groups.get(name) ?? this.outside.groups.add({ name, max: 100, cluster: CLUSTER.name });
  }

  #changed({ type, resource, object, previous }: Change): void {
    if (this.#excused) return;
    const { name } = object.metadata;
    if (resource === 'nodes' && type === 'DELETED') this.log.nodesDeleted.push(name);
    if (resource === 'nodes' && type === 'MODIFIED') {
      const [before, after] = [previous, object].map((one) => one?.spec?.unschedulable === true);
      if (!before && after) this.log.cordoned.push(name);
      if (before && !after) this.log.uncordoned.push(name);
    }
    const wasThere = previous?.metadata.deletionTimestamp === undefined;
    const isGoing = type === 'DELETED' || object.metadata.deletionTimestamp !== undefined;
    if (resource === 'gameservers' && wasThere && isGoing) this.log.gameServersDeleted.push(name);
  }
}
