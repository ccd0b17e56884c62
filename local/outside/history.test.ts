import { AutoScalingClient } from '@aws-sdk/client-auto-scaling';
import { EKSClient } from '@aws-sdk/client-eks';
import { expect, test } from 'vitest';
import { cronTimes } from '../../lib/cron/croner.ts';
import type { KubernetesApi } from '../../lib/kubernetes/api.ts';
import { clusterOf } from '../../lib/kubernetes/cluster.ts';
import { connectToEks } from '../../lib/kubernetes/eks.ts';
import { objectsOf } from '../../lib/kubernetes/objects.ts';
import { providersOf } from '../../lib/providers/providers.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import type { Ledger } from '../../lib/scaler/observation.ts';
import type { Cluster, LedgerStore } from '../../lib/scaler/ports.ts';
import { runTick } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { stateOf } from './cluster-objects.ts';
import type { Fault } from './faults.ts';
import { type Outside, startOutside } from './outside.ts';

/** The real scaler, by the real clients, in a world of players in which any request may come to harm. */

const CREDENTIALS = { accessKeyId: 'scaler', secretAccessKey: 'secret' };
const MINUTE_MS = 60_000;
const HARM: readonly [Fault, ...Fault[]] = [
  { kind: 'refuse', code: 'InternalError', status: 500 },
  { kind: 'cut', effect: true },
  { kind: 'cut', effect: false },
];

function ledgerInMemory(): LedgerStore {
  let ledger: Ledger = { version: 0, pendingDeletions: [] };
  return {
    read: async () => ledger,
    write: async (next) => {
      if (next.version !== ledger.version) throw new CallError('conflict', '409', 'written meanwhile');
      ledger = { ...next, version: next.version + 1 };
      return ledger;
    },
  };
}

/** A minute of players: some come, and of nine servers in use one, another each minute, has seen the end of its game. */
function play({ fleets }: Outside, minute: number): void {
  fleets.allocate('f');
  const inUse = fleets.servers('f').filter((one) => stateOf(one) === 'Allocated' && !one.metadata.deletionTimestamp);
  for (const [at, { metadata }] of inUse.entries()) {
    if ((at + minute) % 9 === 0) fleets.endGame(metadata.name, metadata.namespace);
  }
}

/** An hour of changing targets; what `api` is asked through is what `clusterPort` makes of it. */
async function anHour(seed: number, clusterPort: (api: KubernetesApi) => Cluster = clusterOf) {
  let now = Date.parse('2026-01-15T12:00:00Z') as EpochMs;
  const clock = () => now;
  const outside = await startOutside({
    clock,
    seed: 'history',
    clusters: [
      {
        name: 'game',
        access: { secretOf: () => CREDENTIALS.secretAccessKey },
        nodegroups: [{ name: 'games', max: 9, desired: 6, newInstancesProtected: true }],
        fleets: [{ name: 'f', replicas: 12 }],
      },
    ],
  });
  const client = { maxAttempts: 1, credentials: CREDENTIALS };
  const eks = new EKSClient({ ...client, endpoint: outside.endpoints.eks });
  const autoScaling = new AutoScalingClient({ ...client, endpoint: outside.endpoints.autoScaling });
  const cluster = 'game';
  const resolveService = async () => undefined;
  const ledger = ledgerInMemory();
  let api: KubernetesApi | undefined;

  async function tick(): Promise<void> {
    api ??= await connectToEks({ cluster, region: 'eu-central-1', eks, credentials: CREDENTIALS, clock });
    const provider = providersOf({ cluster, eks, autoScaling, resolveService, clock });
    await runTick((await objectsOf(api).list()) ?? [], {
      cluster: clusterPort(api),
      portsOf: (object) => ({ ledger, provider: (spec) => provider(object, spec) }),
      times: cronTimes,
      clock,
      deadline: (now + MINUTE_MS) as EpochMs,
    });
  }

  const spec = { replicas: 6, provider: 'eks', config: { nodegroup: 'games' } };
  const metadata = { name: 'game' };
  outside.scene.add('gameservernodes', {
    apiVersion: 'stable.agones.dev/v1alpha1',
    kind: 'GameServerNode',
    metadata,
    spec,
  });
  outside.faults.addRandom({ seed, share: 0.08, faults: HARM });
  const race: Fault = { kind: 'meanwhile', act: () => outside.fleets.allocate('f') };
  outside.faults.addRandom({ seed, share: 0.5, operation: 'delete gameservers', faults: [race] });
  for (const replicas of [6, 2, 8, 3]) {
    outside.scene.change('gameservernodes', 'game', (one) => ({ ...one, spec: { ...spec, replicas } }));
    for (let minute = 0; minute < 15; minute += 1) {
      now = (now + MINUTE_MS) as EpochMs;
      outside.settle();
      play(outside, minute);
      await tick().catch((error: unknown) => {
        if (!(error instanceof CallError)) throw error;
      });
    }
  }
  outside.faults.clear();
  for (const { metadata: server } of outside.fleets.servers('f')) outside.fleets.endGame(server.name, server.namespace);
  for (let minute = 0; minute < 10; minute += 1) {
    now = (now + MINUTE_MS) as EpochMs;
    await tick();
  }
  api?.close();
  eks.destroy();
  autoScaling.destroy();
  await outside.close();
  return outside;
}

test.for([1, 2])('a scaler that goes up and down costs no game, whatever comes to harm (seed %i)', async (seed) => {
  const { requests, violations, killedSessions, groups } = await anHour(seed);
  const struck = [...new Set(requests.map(({ fault }) => fault))];
  expect(struck).toEqual(expect.arrayContaining(['refuse', 'cut', 'meanwhile']));
  const ended = requests.filter(({ operation }) => operation === 'TerminateInstanceInAutoScalingGroup');
  expect(ended.length).toBeGreaterThan(4);
  expect(violations).toEqual([]);
  expect(killedSessions).toEqual([]);
  expect(groups.get('eks-games')?.desired).toBe(3);
});

test('one that deletes servers without saying of which version costs games', async () => {
  const unguarded = (api: KubernetesApi): Cluster => ({
    ...clusterOf(api),
    deleteGameServer: async ({ namespace, name }) => {
      const path = ['apis', 'agones.dev', 'v1', 'namespaces', namespace, 'gameservers', name];
      await api.request({ method: 'DELETE', path });
    },
  });
  const { violations, killedSessions } = await anHour(1, unguarded);
  expect(violations.join()).toContain('was deleted in state Allocated');
  expect(killedSessions.length).toBeGreaterThan(0);
});
