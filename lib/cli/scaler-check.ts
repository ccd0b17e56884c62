import { cronTimes } from '../cron/croner.ts';
import type { Deed, TickError } from '../scaler/act/report.ts';
import { dryCluster, dryObjectPorts, dryRegistry } from '../scaler/dry-run.ts';
import type { Ledger } from '../scaler/observation.ts';
import type { LedgerStore } from '../scaler/ports.ts';
import type { ReachedCluster } from '../scaler/run-cluster.ts';
import { runTick, type TickObject } from '../scaler/tick.ts';
import type { Problem } from '../schema.ts';
import { NO_LEDGER } from '../store/ledger-item.ts';
import { type EpochMs, systemClock } from '../time.ts';
import type { Seen } from './scaler-over-clusters.ts';
import { deedText, goneView, lineOf, type PoolView, poolsText, poolView } from './scaler-view.ts';

/** What the next tick would do with a pool. */
export interface PoolCheck extends PoolView {
  /** Left out: of an object that is gone. */
  readonly would?: readonly Deed[];
  /** Why it is acted on in no way; empty if it is. Left out: of an object that is gone. */
  readonly problems?: readonly Problem[];
  readonly errors?: readonly TickError[];
}

/** A tick over `objects` as if they were those of the cluster, which changes nothing. */
export async function dryTick(
  objects: readonly TickObject[],
  reached: ReachedCluster,
  { registry, ledgers, now }: Seen,
): Promise<PoolCheck[]> {
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
  const views = outcomes.map(({ name, status, problems, report }) => ({
    ...poolView(name, status, ledgers.get(name), now),
    would: report.deeds,
    problems,
    errors: report.errors,
  }));
  return withGone(views, ledgers, now);
}

function unwritten(ledger: Ledger = NO_LEDGER): LedgerStore {
  return { read: async () => ledger, write: async (next) => next };
}

/** With the objects that are gone, and that the ledgers still know something of; by name. */
export function withGone<V extends PoolView>(
  views: readonly V[],
  ledgers: Seen['ledgers'],
  now: EpochMs,
): (V | PoolView)[] {
  const there = new Set(views.map(({ object }) => object));
  const gone = [...ledgers].flatMap(([object, ledger]) => {
    return there.has(object) ? [] : (goneView(object, ledger, now) ?? []);
  });
  return [...views, ...gone].sort((a, b) => (a.object < b.object ? -1 : 1));
}

/** The pools, and below what would be done with each. */
export function checksText(pools: readonly PoolCheck[]): string {
  return [poolsText(pools), ...pools.flatMap(wouldText)].join('\n');
}

function wouldText({ object, would, errors = [] }: PoolCheck): string[] {
  if (would === undefined) return [];
  const deeds = would.length === 0 ? ['do nothing'] : would.map(deedText);
  return [
    ...deeds.map((deed) => lineOf(`${object}: would ${deed}`)),
    ...errors.map(({ operation, subject, code, message }) =>
      lineOf(`${object}: ${operation} ${subject}: ${code}: ${message}`),
    ),
  ];
}
