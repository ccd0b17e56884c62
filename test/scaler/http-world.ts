import { AutoScalingClient } from '@aws-sdk/client-auto-scaling';
import { EKSClient } from '@aws-sdk/client-eks';
import { Killed } from '../../cases/scaler/faults.ts';
import { reachThroughEks } from '../../lib/aws/reach-cluster.ts';
import { cronTimes } from '../../lib/cron/croner.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import { type ClusterOutcome, runCluster } from '../../lib/scaler/run-cluster.ts';
import type { Turn, Turns } from '../../lib/scaler/turn.ts';
import { SCALER } from '../../lib/settings.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type Outside, startOutside } from '../../local/outside/outside.ts';
import { MemoryTurns } from '../support/memory-turns.ts';

const CREDENTIALS = { accessKeyId: 'scaler', secretAccessKey: 'secret' };
const CLUSTER = 'eu-central-1/game';
const START = Date.parse('2026-01-15T12:00:00Z') as EpochMs;
const OBJECT = 'game';
export const FLEET = 'f';

/** One run of the function, under way. */
export interface HttpRun {
  readonly done: Promise<ClusterOutcome['kind'] | 'killed' | 'failed'>;
  kill(): void;
}

/** A cluster of EKS with players, and the scaler that reaches it by its real clients, with leases and ledgers in memory. */
export class HttpWorld {
  now = START;
  readonly outside: Outside;
  readonly turns: MemoryTurns;
  readonly violations: string[] = [];
  readonly #eks: EKSClient;
  readonly #autoScaling: AutoScalingClient;
  #runs = 0;

  private constructor(outside: Outside, turns: MemoryTurns) {
    this.outside = outside;
    this.turns = turns;
    const client = { region: 'eu-central-1', maxAttempts: 1, credentials: CREDENTIALS };
    this.#eks = new EKSClient({ ...client, endpoint: outside.endpoints.eks });
    this.#autoScaling = new AutoScalingClient({ ...client, endpoint: outside.endpoints.autoScaling });
    outside.groups.listen({
      terminating: (_, { id }, cause) => {
        if (cause === 'by lowered desired capacity') this.violations.push(`I7: ${id} was ended ${cause}`);
        const ledger = turns.clusters.get(CLUSTER)?.ledgers.get(OBJECT);
        const written = ledger?.pendingDeletions.some(({ instance }) => instance === id) ?? false;
        if (cause === 'by id' && !written) this.violations.push(`I10: ${id} was ended, and no intent was written`);
      },
    });
  }

  static async start(nodes: number, servers: number): Promise<HttpWorld> {
    let world: HttpWorld | undefined;
    const outside = await startOutside({
      clock: () => world?.now ?? START,
      seed: 'http',
      clusters: [
        {
          name: 'game',
          access: { secretOf: () => CREDENTIALS.secretAccessKey },
          nodegroups: [{ name: 'games', max: 9, desired: nodes, newInstancesProtected: true }],
          fleets: [{ name: FLEET, replicas: servers }],
        },
      ],
    });
    world = new HttpWorld(outside, new MemoryTurns());
    return world;
  }

  async close(): Promise<void> {
    this.#eks.destroy();
    this.#autoScaling.destroy();
    await this.outside.close();
  }

  retarget(replicas: number): void {
    const { scene, cluster } = this.outside;
    const spec = { replicas, provider: 'eks', config: { nodegroup: 'games' } };
    if (cluster().store.get('gameservernodes', OBJECT) !== undefined) {
      scene.change('gameservernodes', OBJECT, (one) => ({ ...one, spec }));
      return;
    }
    const metadata = { name: OBJECT };
    scene.add('gameservernodes', { apiVersion: 'stable.agones.dev/v1alpha1', kind: 'GameServerNode', metadata, spec });
  }

  /** Starts the tick of this minute. */
  run(): HttpRun {
    this.#runs += 1;
    const holder = `f${this.#runs}`;
    const stop = new AbortController();
    const begun = this.now;
    const tick = {
      ...{ cluster: CLUSTER, holder, scheduledAt: begun },
      until: (begun + SCALER.leaseSeconds * 1000) as EpochMs,
      deadline: (begun + SCALER.timeoutSeconds * 1000 - SCALER.reserveMs) as EpochMs,
    };
    const [eks, autoScaling, clock] = [this.#eks, this.#autoScaling, () => this.now];
    const settings = { name: 'game', region: 'eu-central-1' };
    const done = runCluster(tick, {
      turns: mortal(this.turns, stop.signal),
      reach: () => reachThroughEks({ settings, eks, autoScaling, clock, signal: stop.signal }),
      times: cronTimes,
      clock,
    }).then(
      ({ kind }) => (stop.signal.aborted ? 'killed' : kind),
      (error: unknown) => {
        if (error instanceof Killed || stop.signal.aborted) return 'killed' as const;
        if (error instanceof CallError) return 'failed' as const;
        throw error;
      },
    );
    return { done, kill: () => stop.abort() };
  }
}

/** The store as a function reaches it that may be killed: then it writes nothing any more, and gives nothing back. */
function mortal(turns: Turns, signal: AbortSignal): Turns {
  const alive = <T>(call: () => Promise<T>): Promise<T> =>
    signal.aborted ? Promise.reject(new Killed('it was killed')) : call();
  const turnOf = (turn: Turn): Turn => ({
    ledgers: turn.ledgers,
    ledgerOf: (object) => {
      const store = turn.ledgerOf(object);
      return { read: () => store.read(), write: (next) => alive(() => store.write(next)) };
    },
    end: (forget) => alive(() => turn.end(forget)),
  });
  return {
    begin: (request) =>
      alive(async () => {
        const begun = await turns.begin(request);
        return begun.kind === 'begun' ? { kind: 'begun', turn: turnOf(begun.turn) } : begun;
      }),
  };
}
