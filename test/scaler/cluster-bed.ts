import { randomUUID } from 'node:crypto';
import { cronTimes } from '../../lib/cron/croner.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import type { GameServerNodeObject, Ledger } from '../../lib/scaler/observation.ts';
import type { ClusterEvent, Objects } from '../../lib/scaler/ports.ts';
import {
  type ClusterOutcome,
  type ClusterPorts,
  type ReachedCluster,
  runCluster,
} from '../../lib/scaler/run-cluster.ts';
import type { EpochMs } from '../../lib/time.ts';
import { MemoryTurns } from '../support/memory-turns.ts';
import { OBJECT, ScalerBed } from './bed.ts';
import { CLUSTER } from './lease-bed.ts';

export const MINUTE_MS = 60_000;
/** For how long a tick holds its cluster. */
export const LEASE_MS = 65_000;
export const REFUSED = new CallError('refused', '500', 'no');

/** Thrown by whoever is dead: nothing that a port answers. */
export class Dead extends Error {}

/** The condition of a status as JSON. */
type Condition = Readonly<Record<string, string>>;

/** A cluster in memory with a pool of two nodes, and the function that runs the ticks of its objects. */
export class ClusterBed extends ScalerBed {
  readonly turns = new MemoryTurns();
  /** Undefined: the cluster does not know the kind. */
  objects: GameServerNodeObject[] | undefined;
  /** What has been told, until `told` takes it. */
  readonly events: ClusterEvent[] = [];
  /** The calls of the last tick, by name. */
  calls: string[] = [];
  /** What happens to a call, by its name, before it is made. */
  meanwhile: (name: string, nth: number) => void = () => undefined;
  /** The call after which the function is dead; and whether that call arrives. */
  dies: { readonly after: number; readonly arrives: boolean } | undefined;

  constructor() {
    super('eks', 2);
    this.addNode();
    this.addNode();
    this.objects = [this.objectOf(OBJECT)];
  }

  objectOf(name: string, more: Partial<GameServerNodeObject> = {}): GameServerNodeObject {
    const { now: createdAt } = this;
    return {
      name,
      uid: `uid-${name}`,
      resourceVersion: '1',
      generation: 1,
      createdAt,
      spec: {},
      status: undefined,
      ...more,
    };
  }

  later(ms: number): void {
    this.now = (this.now + ms) as EpochMs;
  }

  /** From now on each call of that name is refused. */
  refuse(label: string): void {
    this.meanwhile = (name) => {
      if (name === label) throw REFUSED;
    };
  }

  /** Nothing happens to calls any more. */
  recover(): void {
    this.meanwhile = () => undefined;
  }

  /** Runs the tick of the present minute. */
  async run(scheduledAt = this.now): Promise<ClusterOutcome> {
    this.calls = [];
    const { now } = this;
    const deadline = (now + 44_000) as EpochMs;
    const until = (now + LEASE_MS) as EpochMs;
    const holder = randomUUID();
    return runCluster({ cluster: CLUSTER, scheduledAt, holder, until, deadline }, this.#ports());
  }

  /** The events since the last time, as `Warning DrainBlocked`. */
  told(): string[] {
    return this.events.splice(0).map(({ type, reason }) => `${type} ${reason}`);
  }

  /** The status of the first object. */
  status(): Readonly<Record<string, unknown>> & { readonly conditions: readonly Condition[] } {
    return this.objects?.[0]?.status as ReturnType<ClusterBed['status']>;
  }

  condition(type: string): Condition | undefined {
    return this.status().conditions.find((one) => one.type === type);
  }

  #ports(): ClusterPorts {
    const { cluster, provider } = this.world;
    const asked = this.#mortal(provider);
    const reached: ReachedCluster = {
      objects: this.#mortal(this.#stored),
      cluster: this.#mortal(cluster),
      provider: () => asked,
      locate: (instances) => asked.locate(instances),
    };
    const { reach } = this.#mortal({ reach: async () => reached });
    const turns = this.#mortal({ begin: this.#begin });
    return { turns, reach, times: cronTimes, clock: () => this.now };
  }

  readonly #begin = async (request: Parameters<MemoryTurns['begin']>[0]) => {
    const begun = await this.turns.begin(request);
    if (begun.kind !== 'begun') return begun;
    const { ledgers, ledgerOf, end } = begun.turn;
    const ledger = (object: string) => {
      const { read, write } = ledgerOf(object);
      const mirrored = async (next: Ledger) => {
        // Where the world looks whether a machine that is ended was written down first.
        this.world.ledger = await write(next);
        return this.world.ledger;
      };
      return { read, write: this.#mortal({ write: mirrored }).write };
    };
    return { kind: 'begun' as const, turn: { ledgers, ledgerOf: ledger, end: this.#mortal({ end }).end } };
  };

  readonly #stored: Objects = {
    // As the cluster has it: a copy of its own, names in another order.
    list: async () => this.objects?.map((one) => ({ ...one, spec: this.spec(), status: sorted(one.status) })),
    writeStatus: async ({ name }, status) => {
      const written = JSON.parse(JSON.stringify(status));
      this.objects = this.objects?.map((one) => (one.name === name ? { ...one, status: written } : one));
    },
    tell: async (event) => void this.events.push(event),
  };

  /** Passes each call of `port` on, unless the function is dead. */
  #mortal<T extends object>(port: T): T {
    const call = async (label: string, make: () => unknown) => {
      this.calls.push(label);
      const nth = this.calls.length;
      if (this.dies && nth > this.dies.after + 1) throw new Dead();
      if (this.dies && nth === this.dies.after + 1 && !this.dies.arrives) throw new Dead();
      this.meanwhile(label, nth);
      const value: unknown = await make();
      if (this.dies && nth === this.dies.after + 1) throw new Dead();
      return value;
    };
    return new Proxy(port, {
      get(target, name) {
        const method = Reflect.get(target, name) as unknown;
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => call(String(name), () => method.apply(target, args));
      },
    });
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted()
      .map(([name, one]) => [name, sorted(one)]),
  );
}
