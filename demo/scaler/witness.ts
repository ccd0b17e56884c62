import type { EpochMs } from '../../lib/time.ts';
import type { RecordedRequest } from '../../local/kubernetes/server.ts';
import type { Outside } from '../../local/outside/outside.ts';
import { censusOf, gamesOn, isCordoned, isMarked } from './census.ts';
import type { Deed, GroupMove } from './deeds.ts';
import { GROUP } from './scene.ts';

export interface WitnessSettings {
  readonly outside: Outside;
  readonly clock: () => EpochMs;
  readonly target: (at: EpochMs) => number;
  /** Whether the machine's end is written down as an intent. */
  readonly isIntended: (instance: string) => Promise<boolean>;
  /** Called just before a server is deleted; whether players got ahead of it. */
  readonly beforeDelete: (server: string) => boolean;
}

const OPERATOR = 'kubernetes-admin';

/** Requests that change a node or a game server. */
const CHANGES = ['patch nodes', 'update nodes', 'delete nodes', 'delete gameservers', 'patch gameservers'] as const;

/** Stands at the doors of the outside, and writes down each deed of the scaler with what was there when it was done. */
export class Witness {
  readonly #settings: WitnessSettings;
  readonly #deeds: Deed[] = [];
  readonly #moves: GroupMove[] = [];
  readonly #removed = new Map<string, EpochMs>();
  readonly #answers: (() => void)[] = [];
  readonly #changes: string[] = [];
  /** The last request that has been counted. */
  #counted: RecordedRequest | undefined;
  #desired: number;

  constructor(settings: WitnessSettings) {
    this.#settings = settings;
    const { outside, clock } = settings;
    const { faults, groups } = outside;
    const forever = { times: Number.POSITIVE_INFINITY } as const;
    const seen = () => this.#seen(outside.kubernetes.requests.at(-1));
    for (const operation of CHANGES) {
      faults.add({ service: 'kubernetes', operation, ...forever, fault: { kind: 'meanwhile', act: seen } });
    }
    const ending = () => this.#ending(outside.requests.at(-1)?.subject ?? '');
    const operation = 'TerminateInstanceInAutoScalingGroup';
    faults.add({ service: 'autoscaling', operation, ...forever, fault: { kind: 'meanwhile', act: ending } });
    const group = () => groups.get(GROUP) ?? { desired: 0, min: 0, max: 0 };
    this.#desired = group().desired;
    const moved = (what: GroupMove['what'], instance: string, cause?: string) => {
      const { desired, min, max } = group();
      this.#desired = desired;
      this.#moves.push({ at: clock(), what, instance, ...(cause && { cause }), desired, min, max });
    };
    groups.listen({
      launched: (_, { id }) => moved('launched', id),
      terminating: (_, { id }, cause) => moved('ended', id, cause),
      raised: () => this.#ordered(group()),
    });
    outside.cluster().store.onChange(({ type, resource, object }) => {
      if (resource === 'nodes' && type === 'DELETED') this.#removed.set(object.metadata.name, clock());
    });
  }

  get deeds(): readonly Deed[] {
    return this.#deeds;
  }

  /** Requests to set the desired capacity that may have taken effect. */
  get sets(): number {
    const { requests } = this.#settings.outside;
    return requests.filter(({ operation, fault }) => operation === 'SetDesiredCapacity' && fault !== 'refuse').length;
  }

  get moves(): readonly GroupMove[] {
    return this.#moves;
  }

  /** When each Node that is gone went. */
  get removed(): ReadonlyMap<string, EpochMs> {
    return this.#removed;
  }

  /** Requests to Kubernetes that the scaler has made, and what it has changed, since it was asked last. */
  take(): { readonly kubernetes: number; readonly changes: readonly string[] } {
    for (const answer of this.#answers.splice(0)) answer();
    const { requests } = this.#settings.outside.kubernetes;
    const since = this.#counted === undefined ? 0 : requests.lastIndexOf(this.#counted) + 1;
    const kubernetes = requests.slice(since).filter(({ user }) => user !== OPERATOR).length;
    this.#counted = requests.at(-1);
    return { kubernetes, changes: this.#changes.splice(0) };
  }

  #seen(request: RecordedRequest | undefined): void {
    if (request === undefined || request.user === OPERATOR) return;
    const { verb, resource, name } = request;
    if (name === undefined) return;
    this.#changes.push(`${verb} ${resource} ${name}`);
    if (resource === 'gameservers') this.#deleting(request, name);
    else if (verb === 'delete') this.#removing(name);
    else this.#patching(request, name);
  }

  #deleting(request: RecordedRequest, server: string): void {
    const { outside, clock, beforeDelete } = this.#settings;
    const { store } = outside.cluster();
    const raced = beforeDelete(server);
    const found = store.get('gameservers', server, 'default');
    const node = store.get('nodes', String(found?.status?.nodeName));
    const { preconditions } = (request.body ?? {}) as { preconditions?: { uid?: string; resourceVersion?: string } };
    const deed = {
      kind: 'delete-server',
      at: clock(),
      server,
      node: node?.metadata.name ?? '',
      state: String(found?.status?.state),
      guarded: Boolean(preconditions?.uid && preconditions.resourceVersion),
      ours: node !== undefined && isCordoned(node) && isMarked(node),
      raced,
    } as const;
    this.#answers.push(() => this.#deeds.push({ ...deed, done: request.status !== undefined && request.status < 300 }));
  }

  #removing(node: string): void {
    const { outside, clock } = this.#settings;
    this.#deeds.push({ kind: 'remove-node', at: clock(), node, games: this.#runningOn(outside, node) });
  }

  #patching({ body }: RecordedRequest, name: string): void {
    const { outside, clock, target } = this.#settings;
    const node = outside.cluster().store.get('nodes', name);
    const wanted = (body as { spec?: { unschedulable?: boolean | null } } | undefined)?.spec?.unschedulable;
    if (node === undefined || wanted === undefined || (wanted === true) === isCordoned(node)) return;
    const at = clock();
    const kind = wanted === true ? 'cordon' : 'uncordon';
    this.#deeds.push({ kind, at, node: name, marked: isMarked(node), usable: this.#usable(), target: target(at) });
  }

  async #ending(instance: string): Promise<void> {
    const { outside, clock, isIntended } = this.#settings;
    const node = outside.machines.get(instance)?.node ?? '';
    this.#changes.push(`end ${instance}`);
    const games = this.#runningOn(outside, node);
    const at = clock();
    this.#deeds.push({ kind: 'end-machine', at, node, instance, games, intended: await isIntended(instance) });
  }

  #ordered({ desired, max }: { readonly desired: number; readonly max: number }): void {
    const { clock, target } = this.#settings;
    const by = desired - this.#desired;
    this.#desired = desired;
    const at = clock();
    this.#changes.push(`order ${by}`);
    this.#deeds.push({ kind: 'order', at, by, desired, max, usable: this.#usable() - by, target: target(at) });
  }

  /** Of a machine that is off nothing runs any more, whatever the cluster still says. */
  #runningOn(outside: Outside, node: string): number {
    return outside.cluster().machines.isRunning(node) ? gamesOn(outside, node) : 0;
  }

  /** Nodes that take games, and machines that are on their way to. */
  #usable(): number {
    const { active, pending, lost } = censusOf(this.#settings.outside).nodes;
    return active + pending + lost;
  }
}
