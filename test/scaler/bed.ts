import { Killed } from '../../cases/scaler/faults.ts';
import { ScalerLog } from '../../cases/scaler/log.ts';
import { type Intercept, ScalerWorld, type WorldKind } from '../../cases/scaler/world.ts';
import { cronTimes } from '../../lib/cron/croner.ts';
import type { ObservedGameServer, ObservedNode } from '../../lib/scaler/observation.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import type { NodeRegistry } from '../../lib/scaler/ports.ts';
import { type ObjectOutcome, runTick } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';

export const OBJECT = 'game';
const PEM = 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t';
const START = Date.UTC(2026, 0, 15, 12) as EpochMs;

/** A pool in memory with one object on it, a clock, and what a test does to both. */
export class ScalerBed {
  readonly world: ScalerWorld;
  readonly kind: WorldKind;
  now: EpochMs = START;
  replicas: number;
  limit: number | undefined;
  extra: Record<string, unknown> = {};
  /** What Berth has of the nodes; undefined: the tick is given nothing of the kind. */
  registry: NodeRegistry | undefined;
  /** Machines that a hook has been asked for and that have not joined. */
  get ordered(): number {
    return this.world.ordered;
  }
  set ordered(count: number) {
    this.world.ordered = count;
  }
  #made = 0;

  constructor(kind: WorldKind, replicas: number) {
    this.kind = kind;
    this.replicas = replicas;
    this.world = new ScalerWorld(kind, OBJECT);
    if (kind === 'eks') {
      this.world.group = { steady: true, desired: 0, min: 0, max: 20, instances: new Map(), terminateSuspended: false };
    }
  }

  /** A node that is there, with its machine; beyond desired capacity, unless that is for it already. */
  addNode(fields: { readonly grow?: boolean; readonly instance?: string } = {}): string {
    this.#made += 1;
    const name = `n${this.#made}`;
    const instance = fields.instance ?? `i-${this.#made}`;
    const { world } = this;
    if (world.group) {
      const instances = new Map(world.group.instances).set(instance, 'InService');
      world.group = { ...world.group, instances, desired: world.group.desired + (fields.grow === false ? 0 : 1) };
    }
    world.nodes.set(name, {
      name,
      uid: `uid-${name}`,
      resourceVersion: world.nextVersion(),
      providerId:
        this.kind === 'eks' ? `aws:///eu-west-1a/${instance}` : this.kind === 'custom' ? `metal://${name}` : '',
      labels: { 'eks.amazonaws.com/nodegroup': 'games' },
      annotations: {},
      taints: [],
      unschedulable: false,
      ready: true,
      createdAt: this.now,
      deleting: false,
      ineligible: false,
      allocatable: {},
    });
    return name;
  }

  addServer(nodeName: string, state: string): string {
    this.#made += 1;
    const name = `g${this.#made}`;
    const { world } = this;
    const resourceVersion = world.nextVersion();
    world.servers.set(`default/${name}`, {
      namespace: 'default',
      name,
      uid: `uid-${name}`,
      resourceVersion,
      nodeName,
      state,
      deleting: false,
      development: false,
    });
    world.pods.set(`default/${name}`, {
      namespace: 'default',
      name,
      nodeName,
      labels: { 'agones.dev/role': 'gameserver' },
      ownerKind: 'GameServer',
      phase: 'Running',
    });
    return name;
  }

  changeServer(name: string, change: Partial<ObservedGameServer>): void {
    const server = this.world.servers.get(`default/${name}`);
    if (server === undefined) return;
    const resourceVersion = this.world.nextVersion();
    this.world.servers.set(`default/${name}`, { ...server, ...change, resourceVersion });
  }

  removeServer(name: string): void {
    this.world.servers.delete(`default/${name}`);
    this.world.pods.delete(`default/${name}`);
  }

  changeNode(name: string, change: Partial<ObservedNode>): void {
    const node = this.world.nodes.get(name);
    if (node) this.world.nodes.set(name, { ...node, ...change, resourceVersion: this.world.nextVersion() });
  }

  /** Cordoned by the scaler, `minutes` ago. */
  drain(name: string, minutes = 10): void {
    const annotations = {
      [MARKS.cordonedBy]: OBJECT,
      [MARKS.cordonedAt]: new Date(this.now - minutes * 60_000).toISOString(),
    };
    this.changeNode(name, { unschedulable: true, annotations });
  }

  spec(): Record<string, unknown> {
    return {
      replicas: this.replicas,
      provider: this.kind,
      config: this.kind === 'eks' ? { nodegroup: 'games' } : {},
      ...(this.limit === undefined ? {} : { maxGameServerDeletesPerTick: this.limit }),
      ...(this.kind === 'custom' ? { grpcHook: { address: 'hook.example:443', caBundle: PEM } } : {}),
      ...this.extra,
    };
  }

  /** Runs one tick. Undefined: the function was killed. `deadlineMs`: time that it has. */
  async tick(intercept?: Intercept, deadlineMs = 50_000): Promise<ObjectOutcome | undefined> {
    if (intercept) this.world.intercept = intercept;
    try {
      const [outcome] = await runTick([{ name: OBJECT, createdAt: START, spec: this.spec() }], {
        cluster: this.world.cluster,
        portsOf: () => ({ ledger: this.world.ledgerStore, provider: () => this.world.provider }),
        ...(this.registry === undefined ? {} : { registry: this.registry }),
        times: cronTimes,
        clock: () => this.now,
        deadline: (this.now + deadlineMs) as EpochMs,
      });
      return outcome;
    } catch (error) {
      if (error instanceof Killed) return undefined;
      throw error;
    }
  }

  /** What has been done since the last time. */
  takeLog(): ScalerLog {
    const { log } = this.world;
    this.world.log = new ScalerLog();
    return log;
  }
}
