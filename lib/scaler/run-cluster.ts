import { SCALER } from '../settings.ts';
import type { Clock, EpochMs } from '../time.ts';
import type { TickError } from './act/report.ts';
import { answerTo } from './act/tick-context.ts';
import type { CallError } from './call-error.ts';
import type { GameServerNodeObject, Ledger, Whereabouts } from './observation.ts';
import type { Cluster, NodeRegistry, Objects, Provider } from './ports.ts';
import { leaveOrphans, type OrphanOutcome, type RegisteredOrphan } from './registration/registration-orphans.ts';
import type { CronTimes } from './spec/cron-times.ts';
import type { GameServerNodeSpec } from './spec/spec.ts';
import { conditionEvents, deedEvents } from './tell/cluster-events.ts';
import { isSameJson, statusJson } from './tell/status-json.ts';
import { type ObjectOutcome, runTick } from './tick.ts';
import type { Turn, TurnRequest, Turns } from './turn.ts';

/** A cluster as one tick reaches it. */
export interface ReachedCluster {
  readonly objects: Objects;
  readonly cluster: Cluster;
  /** The provider of an object whose provider is not `auto`. */
  provider(object: string, spec: GameServerNodeSpec): Provider;
  /**
   * Where machines are, whosever they were: `elsewhere`, in some group, or `gone`, in none. Of whom nothing is known is
   * not in the answer. Throws CallError.
   */
  locate(instances: readonly string[]): Promise<ReadonlyMap<string, Whereabouts>>;
}

export interface ClusterPorts {
  readonly turns: Turns;
  /** Asked for once the turn is begun; throws CallError where the cluster cannot be reached. */
  reach(): Promise<ReachedCluster>;
  /** Left out: no node is registered with Berth. */
  readonly registry?: NodeRegistry;
  readonly times: CronTimes;
  readonly clock: Clock;
}

/** `until` is past `deadline`, by as much as a clock may be wrong: nothing is begun that could end in another's turn. */
export interface ClusterTick extends Omit<TurnRequest, 'now'> {
  /** After this nothing more is begun; the next tick goes on. */
  readonly deadline: EpochMs;
}

/** What a tick came to for one cluster. */
export type ClusterOutcome =
  /** Another run is at it, or this tick had its turn before: nothing was done. */
  { readonly kind: 'held' | 'past' } | Ran;

/** `unreleased`: why the turn could not be given back. It ends by itself, at the cost of a tick. */
type Ran = { readonly unreleased?: unknown } & (
  | /** The cluster does not know the kind GameServerNode. */ {
      readonly kind: 'no-kind';
      /** Objects whose nodes are registered with Berth, and stay so: a kind that is not served may come back with all of them. */
      readonly stranded?: readonly string[];
    }
  /** It could not be reached, or its objects could not be read. */
  | { readonly kind: 'unobserved'; readonly error: CallError }
  | {
      readonly kind: 'done';
      readonly objects: readonly ObjectOutcome[];
      /** What went wrong about telling: statuses, events. */
      readonly errors: readonly TickError[];
      /** Objects that are gone, and of which what was under way to the last is given up. */
      readonly abandoned: readonly string[];
      /** Objects that are gone, and whose nodes are being taken out of Berth. */
      readonly leaving: readonly OrphanOutcome[];
    }
);

/**
 * One tick of one cluster, from the lease to what is told. Everything in it may be done again, and it may die anywhere:
 * then the lease expires, and a later tick goes on from what is there. Throws what is no answer of the outside (a bug),
 * and a StoreError where the turn could not be begun.
 */
export async function runCluster(tick: ClusterTick, ports: ClusterPorts): Promise<ClusterOutcome> {
  const { deadline: _, ...request } = tick;
  const begun = await ports.turns.begin({ ...request, now: ports.clock() });
  if (begun.kind !== 'begun') return { kind: begun.kind };
  const { turn } = begun;
  const forget: string[] = [];
  const end = () =>
    turn.end(forget).then(
      () => ({}),
      (unreleased: unknown) => ({ unreleased }),
    );
  try {
    const outcome = await inTurn(tick, turn, ports, forget);
    return { ...outcome, ...(await end()) };
  } catch (error) {
    await end();
    throw error;
  }
}

/** `forget`: gets the objects whose ledgers go with the turn. */
async function inTurn(tick: ClusterTick, turn: Turn, ports: ClusterPorts, forget: string[]): Promise<Ran> {
  const { clock, times, registry } = ports;
  const listed = await answerTo(async () => {
    const reached = await ports.reach();
    return { reached, objects: await reached.objects.list() };
  });
  if (!listed.ok) return { kind: 'unobserved', error: listed.error };
  const { reached, objects } = listed.value;
  const registered = registeredOrphansOf(turn, objects ?? []);
  if (objects === undefined) {
    return registered.length === 0
      ? { kind: 'no-kind' }
      : { kind: 'no-kind', stranded: registered.map(({ object }) => object) };
  }
  const orphans = orphansOf(turn, objects, clock());
  forget.push(...orphans.map(({ object }) => object));
  const bugs: unknown[] = [];
  const outcomes = await runTick(objects, {
    cluster: reached.cluster,
    portsOf: (object) => ({
      ledger: turn.ledgerOf(object),
      provider: (spec: GameServerNodeSpec) => reached.provider(object, spec),
    }),
    ...(registry === undefined ? {} : { registry }),
    times,
    clock,
    deadline: tick.deadline,
    broken: (bug) => bugs.push(bug),
  });
  const leaving = await leaveOrphans(registered, {
    cluster: reached.cluster,
    ledgerOf: (object) => turn.ledgerOf(object),
    locate: (instances) => reached.locate(instances),
    registry,
    clock,
    deadline: tick.deadline,
  });
  const errors = await tell(reached.objects, objects, outcomes, clock, tick.until);
  // After what all others came to has been told.
  if (bugs.length > 0) throw bugs[0];
  const abandoned = orphans.flatMap(({ object, empty }) => (empty ? [] : [object]));
  return { kind: 'done', objects: outcomes, errors, abandoned, leaving };
}

/** Ledgers that one request gives up, at most: an expression of DynamoDB's has an end. */
const MOST_FORGOTTEN = 20;

interface Orphan {
  readonly object: string;
  readonly empty: boolean;
}

/**
 * Objects that are gone, and of which nothing is remembered that anybody would go on from: nothing, or what has been under
 * way for longer than anybody waits. The marks on nodes stay: an object of the same name goes on from them.
 */
function orphansOf({ ledgers }: Turn, objects: readonly GameServerNodeObject[], now: EpochMs): Orphan[] {
  const there = new Set(objects.map(({ name }) => name));
  const orphans: Orphan[] = [];
  for (const [object, ledger] of ledgers) {
    // Nodes that are registered are found by it, to be taken out first.
    if (there.has(object) || ledger.registration !== undefined) continue;
    const latest = latestOf(ledger);
    const expired = latest !== undefined && now - latest >= SCALER.orphanLedgerSeconds * 1000;
    if (latest === undefined || expired) orphans.push({ object, empty: latest === undefined });
  }
  return orphans.slice(0, MOST_FORGOTTEN);
}

/** Objects that are gone and may have nodes that are registered with Berth: their ledgers say in which pool. */
function registeredOrphansOf({ ledgers }: Turn, objects: readonly GameServerNodeObject[]): RegisteredOrphan[] {
  const there = new Set(objects.map(({ name }) => name));
  return [...ledgers].flatMap(([object, ledger]) =>
    there.has(object) || ledger.registration === undefined ? [] : [{ object, ledger }],
  );
}

/** When what is under way was begun last; undefined: nothing is. */
function latestOf({ pendingDeletions, pendingIncrease }: Ledger): EpochMs | undefined {
  const begun = [...pendingDeletions, ...(pendingIncrease === undefined ? [] : [pendingIncrease])];
  return begun.length === 0 ? undefined : (Math.max(...begun.map(({ since }) => since)) as EpochMs);
}

/**
 * Writes each status that has changed, then tells what has happened. What fails is left for the next tick, which sees it:
 * of a status that was not written nothing is told, or it would be told again. Past the lease nothing is told any more.
 */
async function tell(
  to: Objects,
  objects: readonly GameServerNodeObject[],
  outcomes: readonly ObjectOutcome[],
  clock: Clock,
  until: EpochMs,
): Promise<TickError[]> {
  const errors: TickError[] = [];
  const attempt = async (operation: 'status' | 'event', subject: string, call: () => Promise<void>) => {
    if (clock() >= until) return false;
    const answer = await answerTo(call);
    if (answer.ok) return true;
    const { code, message, kind } = answer.error;
    errors.push({ operation, subject, code, message, kind });
    return false;
  };
  const byName = new Map(objects.map((object) => [object.name, object]));
  for (const { name, status, report } of outcomes) {
    const object = byName.get(name);
    if (object === undefined) continue;
    const shown = statusJson(status, object, clock());
    const events = deedEvents(report, object, clock());
    if (!isSameJson(shown, object.status)) {
      const written = await attempt('status', name, () => to.writeStatus(object, shown));
      if (written) events.push(...conditionEvents(status, object, clock()));
    }
    for (const event of events) await attempt('event', name, () => to.tell(event));
  }
  return errors;
}
