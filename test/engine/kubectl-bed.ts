import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { type Engine, startEngine } from '../../local/engine.ts';
import { MovableClock } from '../../local/functions/movable-clock.ts';
import { CREDENTIALS } from '../../local/local-environment.ts';
import { type Outside, startOutside } from '../../local/outside/outside.ts';
import { berthCommand } from '../support/command.ts';
import { cells, Kubectl } from '../support/kubectl.ts';

const SCALER = 'NodeScaler';
const MINUTE = 60_000;
/** Before any window of deploy/kubernetes/example.yaml. */
const START = Date.parse('2026-01-15T12:00:00Z') as EpochMs;
const NODEGROUP = 'eks.amazonaws.com/nodegroup';

interface PoolSettings {
  readonly spec?: object;
  /** Games that begin before the object is there. */
  readonly games?: number;
}

/** The deployed node scaler over a simulated cluster, with kubectl and `berth` beside it. */
export class KubectlBed {
  readonly kubectl: Kubectl;
  readonly outside: Outside;
  readonly #engine: Engine;
  readonly #clock: MovableClock;
  readonly #folder: string;

  private constructor(engine: Engine, outside: Outside, clock: MovableClock) {
    this.#folder = mkdtempSync(join(tmpdir(), 'berth-scaler-kubectl-'));
    this.#engine = engine;
    this.#clock = clock;
    this.outside = outside;
    this.kubectl = new Kubectl(this.#folder);
    this.kubectl.use(outside.kubernetes.kubeconfig());
  }

  static async start(): Promise<KubectlBed> {
    const clock = new MovableClock();
    clock.set(START);
    const secretOf = (id: string) => (id === CREDENTIALS.accessKeyId ? CREDENTIALS.secretAccessKey : undefined);
    const outside = await startOutside({
      clock: () => clock.now(),
      clusters: [{ name: 'local', region: 'us-east-1', access: { secretOf } }],
    });
    const engine = await startEngine({ outside: outside.endpoints, functionClock: clock, schedules: true });
    return new KubectlBed(engine, outside, clock);
  }

  async stop(): Promise<void> {
    await this.#engine.stop();
    await this.outside.close();
    rmSync(this.#folder, { recursive: true });
  }

  /** Moves the clock minute by minute; everything that is due happens. */
  async pass(minutes: number): Promise<void> {
    for (let minute = 0; minute < minutes; minute++) {
      this.#clock.set((this.#clock.now() + MINUTE) as EpochMs);
      await this.#engine.eventSources.idle(SCALER);
    }
  }

  /** `berth scaler …` at the time of the world. */
  async berth(...words: string[]) {
    vi.useFakeTimers({ toFake: ['Date'], now: this.#clock.now() });
    try {
      return await berthCommand(this.#engine.env, ['scaler', ...words]);
    } finally {
      vi.useRealTimers();
    }
  }

  /** A node group of 2 machines with 4 game servers, of the same name. Each test has its own. */
  async addNodegroup(name: string): Promise<void> {
    this.outside.cluster().addNodegroup({ name, max: 10, desired: 2, zones: ['us-east-1a'] });
    const nodeSelector = { [NODEGROUP]: name };
    this.outside.fleets.add({ name, replicas: 4, nodeSelector, scheduling: 'Distributed' });
    // Until machines have joined, and servers are Ready.
    await this.pass(3);
  }

  /** `kubectl apply` of a pool of 2 nodes on the node group of its name, as far as `spec` does not say otherwise. */
  async apply(name: string, spec: object = {}): Promise<void> {
    const kind = { apiVersion: 'stable.agones.dev/v1alpha1', kind: 'GameServerNode', metadata: { name } };
    const whole = { replicas: 2, provider: 'eks', config: { nodegroup: name }, ...spec };
    const file = join(this.#folder, 'pool.json');
    writeFileSync(file, JSON.stringify({ ...kind, spec: whole }));
    await this.kubectl.say('apply', '-f', file);
  }

  /** A node group, and a pool on it that is at its target. */
  async startPool(name: string, { spec, games = 0 }: PoolSettings = {}): Promise<void> {
    await this.addNodegroup(name);
    for (let game = 0; game < games; game++) this.outside.fleets.allocate(name);
    await this.apply(name, spec);
    await this.pass(1);
  }

  /** Ends all games on the servers of a pool. */
  endGames(name: string): void {
    const played = this.outside.fleets.servers(name).filter(({ status }) => status?.state === 'Allocated');
    for (const { metadata } of played) this.outside.fleets.endGame(metadata.name);
  }

  /** What `kubectl get gsn -o wide` has of one pool, by the names of the columns. */
  async shown(name: string): Promise<Readonly<Record<string, string>>> {
    const [head = '', line = ''] = (await this.kubectl.say('get', 'gsn', name, '-o', 'wide')).split('\n');
    const columns = [...head.matchAll(/\S+/g)];
    return Object.fromEntries(
      columns.map(({ 0: column, index }, at) => [column, line.slice(index, columns[at + 1]?.index).trim()]),
    );
  }

  /** The nodes of a node group as `kubectl get nodes` shows them: their status by name. */
  async nodes(name: string): Promise<ReadonlyMap<string, string>> {
    const text = await this.kubectl.say('get', 'nodes', '-l', `${NODEGROUP}=${name}`, '--no-headers');
    return new Map(text === '' ? [] : cells(text).map(([node = '', status = '']) => [node, status]));
  }

  async cordoned(name: string): Promise<string[]> {
    return [...(await this.nodes(name))].flatMap(([node, status]) => (status === CORDONED ? [node] : []));
  }

  /** Reasons of the events that `kubectl describe` shows, each once. */
  async reasons(name: string): Promise<Set<string>> {
    const [, events = ''] = (await this.kubectl.say('describe', 'gsn', name)).split('\nEvents:');
    const rows = cells(events).filter(([type = '']) => ['Normal', 'Warning'].includes(type));
    return new Set(rows.map(([, reason = '']) => reason));
  }

  /** What requests have changed since the first `since`, in the cluster and at AWS, but objects and events themselves. */
  changes(since: number): string[] {
    return this.outside.requests
      .slice(since)
      .map(({ operation, subject }) => `${operation} ${subject}`)
      .filter((request) => !/^(list|get|watch|Describe)|^\w+ (gameservernodes|events)/.test(request));
  }
}

/** As `kubectl get nodes` shows it. */
export const CORDONED = 'Ready,SchedulingDisabled';
