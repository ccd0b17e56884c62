import type { Problem } from '../schema.ts';
import { SCALER } from '../settings.ts';
import type { Clock, EpochMs } from '../time.ts';
import { admissionFindings } from './act/admission-findings.ts';
import { execute } from './act/execute.ts';
import type { Report, TickError } from './act/report.ts';
import { type Answer, answerTo, onlyOnce, rememberUnjoined, type TickContext } from './act/tick-context.ts';
import type { ClusterSnapshot, GameServerNodeObject, Group, Ledger } from './observation.ts';
import type { Intent } from './plan/intents.ts';
import { planTick, type TickPlan } from './plan/plan-tick.ts';
import { detectProvider, isLasting } from './pool/detect-provider.ts';
import { poolKeyOf, unknownInstances } from './pool/membership.ts';
import type { Scene } from './pool/scene.ts';
import type { Cluster, NodeRegistry, ObjectPorts, Provider } from './ports.ts';
import { type RegistryView, readRegistry, withEligibility } from './registration/registration-read.ts';
import { syncRegistration } from './registration/registration-sync.ts';
import { type Claim, sharedNodes } from './shared-nodes.ts';
import type { CronTimes } from './spec/cron-times.ts';
import { claimIn, type GameServerNodeSpec, type PoolClaim, readSpec } from './spec/spec.ts';
import { invalidStatus, type PoolStatus, statusOf, unobservedStatus, type ValidReason } from './tell/status.ts';

/** What a tick wants to know of a GameServerNode. */
export type TickObject = Pick<GameServerNodeObject, 'name' | 'createdAt' | 'spec'>;

export interface TickPorts {
  readonly cluster: Cluster;
  portsOf(object: string): ObjectPorts;
  /** Undefined: no node is registered with Berth; whoever asks for it is told so. */
  readonly registry?: NodeRegistry;
  readonly times: CronTimes;
  readonly clock: Clock;
  /** After this nothing more is begun; the next tick goes on. */
  readonly deadline: EpochMs;
  /** Is told of a bug that came up with one object, which is left out of the outcomes. Left out: it is thrown. */
  readonly broken?: (bug: unknown) => void;
}

/** What a tick came to for one object. */
export interface ObjectOutcome {
  readonly name: string;
  readonly status: PoolStatus;
  /** Why it is acted on in no way; empty if it is. */
  readonly problems: readonly Problem[];
  readonly report: Report;
}

/**
 * One tick of one cluster: brings the pool of every object nearer to its target. Everything is derived from what is
 * there, so a tick may die anywhere, and the next goes on. One object that is wrong, or whose provider does not answer,
 * holds up no other.
 */
export async function runTick(objects: readonly TickObject[], ports: TickPorts): Promise<ObjectOutcome[]> {
  const read = accepted(objects, ports.times);
  // Of objects whose provider has to be told from the nodes, one look for all: each lists all pods of the cluster.
  const look = onlyOnce(() => answerTo(() => ports.cluster.snapshot()));
  // Providers before the cluster: what is seen of a machine is at most that it has not joined yet.
  const tried = await Promise.all(
    read.map((one) => ('outcome' in one ? one : contained(ports, () => prepare(one, ports, look)))),
  );
  const ready = tried.filter((one) => one !== undefined);
  const snapshot = ready.some((one) => !('outcome' in one))
    ? await answerTo(() => ports.cluster.snapshot())
    : undefined;
  const prepared = snapshot?.ok ? withoutShared(ready, read, snapshot.value) : ready;
  const acted = prepared.flatMap((one) => ('outcome' in one ? [] : [one]));
  const view = snapshot?.ok ? await readRegistry(ports.registry, acted, snapshot.value) : undefined;
  const outcomeOf = async (one: Prepared | Settled): Promise<ObjectOutcome | undefined> => {
    if ('outcome' in one) return one.outcome;
    if (!snapshot?.ok) return snapshot && unobserved(one.name, 'cluster', snapshot.error);
    return contained(ports, () => actOn(one, snapshot.value, view, ports));
  };
  const outcomes = await ofAll(prepared, outcomeOf);
  return outcomes.filter((outcome) => outcome !== undefined);
}

/** What `act` comes to; undefined: there was a bug, which is told. Whatever is the matter with one object, the others go on. */
async function contained<T>({ broken }: TickPorts, act: () => Promise<T>): Promise<T | undefined> {
  if (broken === undefined) return act();
  try {
    return await act();
  } catch (bug) {
    broken(bug);
    return undefined;
  }
}

/**
 * What `of` comes to for each, a few at once: who drains thousands of servers, or waits for a hook, must not have the whole
 * time of the tick, or the others would never have their turn. Hooks last: they may take half a minute for each call.
 */
async function ofAll<T>(
  prepared: readonly (Prepared | Settled)[],
  of: (one: Prepared | Settled) => Promise<T>,
): Promise<T[]> {
  const hasHook = (one: Prepared | Settled) => Number(!('outcome' in one) && one.spec.provider === 'custom');
  const waiting = [...prepared.entries()].sort(([, a], [, b]) => hasHook(a) - hasHook(b)).values();
  const results: T[] = [];
  const lane = async () => {
    for (const [at, one] of waiting) results[at] = await of(one);
  };
  await Promise.all(Array.from({ length: SCALER.objectsAtOnce }, lane));
  return results;
}

const IDLE: Report = { deeds: [], errors: [], findings: [], outOfTime: false };

interface Settled {
  readonly outcome: ObjectOutcome;
  /** Of an object that is wrong: the pool that is its own all the same, until it is mended or deleted. */
  readonly claim?: PoolClaim;
}

interface Accepted {
  readonly name: string;
  readonly spec: GameServerNodeSpec;
}

function invalid(name: string, reason: Exclude<ValidReason, 'Accepted'>, problems: readonly Problem[]): Settled {
  const message = problems.map(({ path, message: text }) => (path === '' ? text : `${path}: ${text}`)).join('; ');
  return { outcome: { name, status: invalidStatus(reason, message), problems, report: IDLE } };
}

function unobserved(name: string, subject: string, error: { code: string; message: string }): ObjectOutcome {
  const errors: TickError[] = [{ operation: 'read', subject, code: error.code, message: error.message }];
  const status = unobservedStatus(`${subject} could not be read: ${error.message}. Nothing was changed`);
  return { name, status, problems: [], report: { ...IDLE, errors } };
}

/** Of the objects that select one pool the oldest counts, by time, then by name. */
function accepted(objects: readonly TickObject[], times: CronTimes): (Accepted | Settled)[] {
  const rulers = new Map<string, string>();
  const oldestFirst = [...objects].sort((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1));
  return oldestFirst.map(({ name, spec: input }) => {
    const read = readSpec(input, times);
    const claim = 'problems' in read ? claimIn(input) : read.spec;
    const key = claim && poolKeyOf(claim);
    const ruler = key === undefined ? undefined : rulers.get(key);
    if (key !== undefined && ruler === undefined) rulers.set(key, name);
    if ('problems' in read) return { ...invalid(name, read.reason, read.problems), ...(claim && { claim }) };
    if (ruler === undefined) return { name, spec: read.spec };
    const message = `the older object ${ruler} selects the same pool (${key}): delete one, or select another pool`;
    return invalid(name, 'ConflictingGameServerNode', [{ path: 'spec.config', message }]);
  });
}

/** Of objects that have a node in common the oldest counts, whatever words each selects it by. */
function withoutShared(
  oldestFirst: readonly (Prepared | Settled)[],
  read: readonly (Accepted | Settled)[],
  { nodes }: ClusterSnapshot,
): (Prepared | Settled)[] {
  const specs = new Map<string, PoolClaim | undefined>(
    read.map((one) => ('outcome' in one ? [one.outcome.name, one.claim] : [one.name, one.spec])),
  );
  const claims = oldestFirst.map((one): Claim => {
    if (!('outcome' in one)) return { name: one.name, spec: one.spec, group: one.group };
    return { name: one.outcome.name, spec: specs.get(one.outcome.name) };
  });
  const shared = sharedNodes(claims, nodes);
  return oldestFirst.map((one) => {
    const other = 'outcome' in one ? undefined : shared.get(one.name);
    if ('outcome' in one || other === undefined) return one;
    const message = `node ${other.node} is of the older object ${other.ruler} as well: tell the pools apart (by nodeSelector), or delete one`;
    return invalid(one.name, 'ConflictingGameServerNode', [{ path: 'spec.config', message }]);
  });
}

interface Prepared extends Accepted {
  readonly ports: ObjectPorts;
  readonly provider: Provider;
  readonly ledger: Ledger;
  readonly warnings: readonly string[];
  readonly group: Group | undefined;
}

type Look = () => Promise<Answer<ClusterSnapshot>>;

async function prepare({ name, spec: read }: Accepted, ports: TickPorts, look: Look): Promise<Prepared | Settled> {
  const own = ports.portsOf(name);
  const stored = await answerTo(() => own.ledger.read());
  if (!stored.ok) return { outcome: unobserved(name, 'ledger', stored.error) };
  const resolved = await resolve(name, read, stored.value, own, look);
  if ('outcome' in resolved) return resolved;
  const { spec, ledger } = resolved;
  const provider = own.provider(spec);
  const validation = await answerTo(() => provider.validate());
  if (!validation.ok) {
    const { code, message } = validation.error;
    return invalid(name, 'ProviderUnreachable', [{ path: 'spec.provider', message: `${code}: ${message}` }]);
  }
  const { problems, warnings } = validation.value;
  if (problems.length > 0) return invalid(name, 'InvalidConfig', problems);
  const group = await answerTo(() => provider.describe());
  if (!group.ok) return { outcome: unobserved(name, 'provider', group.error) };
  return { name, spec, ports: own, provider, ledger, warnings, group: group.value };
}

/** The spec with a provider that is not `auto`: the one remembered, or the one that the nodes are of. */
async function resolve(
  name: string,
  spec: GameServerNodeSpec,
  ledger: Ledger,
  own: ObjectPorts,
  look: Look,
): Promise<{ readonly spec: GameServerNodeSpec; readonly ledger: Ledger } | Settled> {
  if (spec.provider !== 'auto') return { spec, ledger };
  const known = ledger.detectedProvider;
  if (known !== undefined && isLasting(known, spec)) return { spec: { ...spec, provider: known }, ledger };
  const snapshot = await look();
  if (!snapshot.ok) return { outcome: unobserved(name, 'cluster', snapshot.error) };
  const detected = detectProvider(snapshot.value.nodes, spec);
  if (known === 'minikube' && ('problem' in detected || detected.provider === known))
    return { spec: { ...spec, provider: known }, ledger };
  if ('problem' in detected)
    return invalid(name, 'UnknownProvider', [{ path: 'spec.provider', message: detected.problem }]);
  const written = await answerTo(() => own.ledger.write({ ...ledger, detectedProvider: detected.provider }));
  if (!written.ok) return { outcome: unobserved(name, 'ledger', written.error) };
  return { spec: { ...spec, provider: detected.provider }, ledger: written.value };
}

async function actOn(
  one: Prepared,
  seenByAll: ClusterSnapshot,
  view: RegistryView | undefined,
  ports: TickPorts,
): Promise<ObjectOutcome> {
  const { name } = one;
  const snapshot = withEligibility(seenByAll, one.spec, view);
  const seen = await planned(one, one.group, snapshot, ports);
  if ('outcome' in seen) return seen.outcome;
  const decided = seen.plan.intents.some(touchesThePool) ? await lookedAtAgain(one, snapshot, ports) : seen;
  if ('outcome' in decided) return decided.outcome;
  const { scene, plan } = decided;
  const context = contextOf(one, ports);
  await execute(plan.intents, context);
  await syncRegistration(context, { scene, pool: plan.pool, view, registry: ports.registry });
  await rememberUnjoined(context, plan.unjoined);
  const { deeds, errors, outOfTime } = context;
  const findings = [...context.findings, ...admissionFindings(errors)];
  const status = statusOf(scene, plan, findings, ports.times, one.warnings, context.ledger);
  return { name, status, problems: [], report: { deeds, errors, findings, outOfTime } };
}

interface Decided {
  readonly scene: Scene;
  readonly plan: TickPlan;
}

/** Whether more than the ledger is changed by it. */
function touchesThePool({ kind }: Intent): boolean {
  return kind !== 'forget' && kind !== 'forget-order';
}

/** Decides once more, on the group as its provider has it now: the one look at all groups does not tell all of each. */
async function lookedAtAgain(one: Prepared, snapshot: ClusterSnapshot, ports: TickPorts): Promise<Decided | Settled> {
  const group = await answerTo(() => one.provider.inspect());
  if (!group.ok) return { outcome: unobserved(one.name, 'provider', group.error) };
  return planned(one, group.value, snapshot, ports);
}

async function planned(
  { name, spec, provider, ledger }: Prepared,
  group: Group | undefined,
  snapshot: ClusterSnapshot,
  ports: TickPorts,
): Promise<Decided | Settled> {
  const unknown = group === undefined ? [] : unknownInstances(snapshot.nodes, spec, group);
  const whereabouts = await answerTo(async () => (unknown.length === 0 ? new Map() : provider.locate(unknown)));
  if (!whereabouts.ok) return { outcome: unobserved(name, 'provider', whereabouts.error) };
  const scene: Scene = {
    object: name,
    spec,
    capabilities: provider.capabilities,
    snapshot,
    ...(group === undefined ? {} : { group }),
    whereabouts: whereabouts.value,
    ledger,
    replaceIneligible: spec.config.replaceIneligible === 'true',
    now: ports.clock(),
  };
  return { scene, plan: planTick(scene, ports.times) };
}

function contextOf({ name, provider, ledger, ports: own }: Prepared, ports: TickPorts): TickContext {
  return {
    object: name,
    cluster: ports.cluster,
    provider,
    ledgerStore: own.ledger,
    clock: ports.clock,
    deadline: ports.deadline,
    ledger,
    deeds: [],
    errors: [],
    findings: [],
    throttled: new Set(),
    halted: false,
    outOfTime: false,
  };
}
