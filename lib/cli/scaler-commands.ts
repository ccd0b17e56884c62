import { Command } from 'commander';
import type { ConnectedCluster } from '../aws/reach-cluster.ts';
import { cronTimes } from '../cron/croner.ts';
import type { Deed, TickError } from '../scaler/act/report.ts';
import { CallError } from '../scaler/call-error.ts';
import { type ClusterSettings, clusterIdOf } from '../scaler/cluster-settings.ts';
import { dryCluster, dryObjectPorts, dryRegistry } from '../scaler/dry-run.ts';
import type { Ledger } from '../scaler/observation.ts';
import type { LedgerStore, NodeRegistry } from '../scaler/ports.ts';
import type { ReachedCluster } from '../scaler/run-cluster.ts';
import { runTick } from '../scaler/tick.ts';
import { NO_LEDGER } from '../store/ledger-item.ts';
import { type EpochMs, systemClock } from '../time.ts';
import { type Cli, type CommonOptions, commandOf, type Run } from './context.ts';
import { EXIT, type ExitStatus } from './io.ts';
import type { ClusterOptions, Memory } from './scaler-clusters.ts';
import { ageText, deedText, goneView, lineOf, type PoolView, poolsText, poolView } from './scaler-view.ts';

type Options = CommonOptions & ClusterOptions;

/** `berth scaler`. */
export function scalerCommands(cli: Cli): Command {
  return new Command('scaler')
    .description('node pools: how they are, and what the next tick would do')
    .addCommand(
      aboutClusters('status', 'how each pool is, and what is under way, as the last tick left it').action(
        (options: Options) => cli.run(options, (run) => overClusters(run, options, statusOf)),
      ),
    )
    .addCommand(
      aboutClusters('check', 'what the next tick would do with each pool, as things are now; changes nothing').action(
        (options: Options) => cli.run(options, (run) => overClusters(run, options, check)),
      ),
    );
}

function aboutClusters(usage: string, description: string): Command {
  return commandOf(usage, description)
    .option('--cluster <name>', 'this cluster, or REGION/NAME (default: all of the deployment)')
    .option('--kubeconfig <file>', 'reach its API server by this file (default: through EKS, with your credentials)')
    .option('--context <name>', 'context of the kubeconfig (default: its current one)');
}

/** What a command found out of one cluster. */
interface ClusterView {
  readonly cluster: string;
  /** Why nothing could be seen of it. */
  readonly problem?: string;
  /** Undefined: it does not know the kind GameServerNode. */
  readonly pools?: readonly PoolReport[];
  /** When its last tick began; undefined: nobody knows. */
  readonly lastTick?: EpochMs;
}

interface PoolReport extends PoolView {
  /** Of `check`: what would be done. */
  readonly would?: readonly Deed[];
  readonly errors?: readonly TickError[];
}

type Look = (reached: ReachedCluster, seen: Seen) => Promise<readonly PoolReport[] | undefined>;

/** What is known of a cluster before it is asked. */
interface Seen {
  readonly registry: NodeRegistry;
  readonly ledgers: ReadonlyMap<string, Ledger>;
  readonly now: EpochMs;
}

async function overClusters(run: Run, options: Options, look: Look): Promise<ExitStatus> {
  // Loaded for this command alone: the clients of clusters are larger than all the rest.
  const { clustersOf, memoryOf, reach } = await import('./scaler-clusters.ts');
  const clusters = clustersOf(run.env, options);
  const memory = memoryOf(run);
  const views = await Promise.all(
    clusters.map((settings) => lookAt(memory, settings, () => reach(run.env, settings, options), look)),
  );
  run.print({ clusters: views }, () => views.map((view) => clusterText(view, systemClock())).join('\n\n'));
  if (views.some(({ problem }) => problem !== undefined)) return EXIT.failed;
  return views.every(({ pools = [] }) => pools.every(({ well }) => well)) ? EXIT.done : EXIT.no;
}

async function lookAt(
  memory: Memory,
  settings: ClusterSettings,
  reach: () => Promise<ConnectedCluster>,
  look: Look,
): Promise<ClusterView> {
  const cluster = clusterIdOf(settings);
  let reached: ConnectedCluster | undefined;
  try {
    const { ledgers, lastTick } = await memory.look(cluster);
    reached = await reach();
    const pools = await look(reached, { registry: memory.registry(cluster), ledgers, now: systemClock() });
    return {
      cluster,
      ...(pools === undefined ? {} : { pools }),
      ...(lastTick === undefined ? {} : { lastTick }),
    };
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return { cluster, problem: `${error.code}: ${error.message}` };
  } finally {
    reached?.close();
  }
}

async function statusOf({ objects }: ReachedCluster, { ledgers, now }: Seen): Promise<PoolReport[] | undefined> {
  const listed = await objects.list();
  const views = listed?.map(({ name, status }) => poolView(name, status, ledgers.get(name), now));
  return views && withGone(views, ledgers, now).sort(byName);
}

/** With the objects that are gone, and that the ledgers still know something of. */
function withGone(views: readonly PoolReport[], ledgers: Seen['ledgers'], now: EpochMs): PoolReport[] {
  const there = new Set(views.map(({ object }) => object));
  const gone = [...ledgers].flatMap(([object, ledger]) => {
    return there.has(object) ? [] : (goneView(object, ledger, now) ?? []);
  });
  return [...views, ...gone];
}

async function check(reached: ReachedCluster, { registry, ledgers, now }: Seen): Promise<PoolReport[] | undefined> {
  const objects = await reached.objects.list();
  if (objects === undefined) return undefined;
  const outcomes = await runTick(objects, {
    cluster: dryCluster(reached.cluster),
    portsOf: (object) =>
      dryObjectPorts({
        ledger: unwritten(ledgers.get(object)),
        provider: (spec) => reached.provider(object, spec),
      }),
    registry: dryRegistry(registry),
    times: cronTimes,
    clock: systemClock,
    // Nobody waits for somebody's turn: a look may take the time that it takes.
    deadline: Number.MAX_SAFE_INTEGER as EpochMs,
  });
  const views = outcomes.map(({ name, status, report }) => ({
    ...poolView(name, status, ledgers.get(name), now),
    would: report.deeds,
    errors: report.errors,
  }));
  return withGone(views, ledgers, now).sort(byName);
}

function unwritten(ledger: Ledger = NO_LEDGER): LedgerStore {
  return { read: async () => ledger, write: async (next) => next };
}

function byName(a: PoolView, b: PoolView): number {
  return a.object < b.object ? -1 : 1;
}

function clusterText({ cluster, problem, pools, lastTick }: ClusterView, now: EpochMs): string {
  const ticked = lastTick === undefined ? 'no tick yet' : `last tick ${ageText(now - lastTick)} ago`;
  const head = `cluster ${cluster}, ${ticked}`;
  if (problem !== undefined) return `${head}\n${lineOf(`could not be seen: ${problem}`)}`;
  if (pools === undefined) {
    return `${head}\nit does not know the kind GameServerNode: kubectl apply -f deploy/kubernetes/crd.yaml`;
  }
  const would = pools.flatMap(wouldText);
  return [head, poolsText(pools), ...would].join('\n');
}

function wouldText({ object, would, errors = [] }: PoolReport): string[] {
  if (would === undefined) return [];
  const deeds = would.length === 0 ? ['do nothing'] : would.map(deedText);
  return [
    ...deeds.map((deed) => lineOf(`${object}: would ${deed}`)),
    ...errors.map(({ operation, subject, code, message }) =>
      lineOf(`${object}: ${operation} ${subject}: ${code}: ${message}`),
    ),
  ];
}
