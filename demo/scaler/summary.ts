import { isoTime } from '../../lib/time.ts';
import type { NodeClass } from './census.ts';
import type { LeftNode, ScalerFacts } from './facts.ts';
import type { Incident } from './incidents.ts';
import { IN_USE, type InvariantId, judge, SCALER_INVARIANTS } from './judge.ts';
import { type OutcomeFacts, outcomeOf } from './outcomes.ts';
import { timeOf } from './scene.ts';
import { type TickCounts, tickCountsOf, ticksByKind } from './ticks.ts';

/** Broken invariants that are listed; of others only the number is told. */
const LISTED_VIOLATIONS = 50;

/**
 * What a scene came to: what `--scaler --json` writes. Its shape is stable within an `apiVersion`: fields may be added,
 * none is taken away or changes its meaning. Times are RFC 3339. Described in the README of the folder above.
 */
export interface ScalerSummary {
  readonly apiVersion: 'berth/v1';
  readonly kind: 'ScalerDemoSummary';
  readonly scene: {
    readonly from: string;
    readonly until: string;
    readonly timezone: string;
    readonly replicas: number;
    readonly peak: number;
    readonly seed: number;
  };
  readonly nodes: {
    readonly start: NodeCounts;
    /** The minute with most active ones. */
    readonly peak: NodeCounts;
    readonly end: NodeCounts;
    /** When as many were active as the evening wants, and when that began to be wanted. */
    readonly reachedAt: string | null;
    readonly neededAt: string;
    /** When the last node went that the night has no use for. */
    readonly shrunkAt: string | null;
    readonly left: readonly LeftNode[];
  };
  readonly games: {
    readonly begun: number;
    readonly played: number;
    readonly stillPlayed: number;
    readonly mostAtOnce: number;
    readonly lostWithMachine: number;
    readonly endedByBerth: number;
    /** Players that found no server at once, and how long the one waited who waited longest. */
    readonly waited: number;
    readonly longestWaitSeconds: number;
  };
  readonly servers: { readonly deletedByBerth: number; readonly withSession: number };
  readonly machines: {
    readonly ordered: number;
    readonly ended: number;
    readonly endedEmpty: number;
    readonly lost: number;
    readonly gone: readonly GoneSummary[];
  };
  readonly races: { readonly won: number; readonly kept: number };
  /** null: nobody cordoned one by hand. */
  readonly operatorsNode: { readonly node: string; readonly touched: number; readonly stillCordoned: boolean } | null;
  readonly ticks: TickCounts;
  readonly incidents: readonly {
    readonly at: string;
    readonly kind: Incident['kind'];
    readonly text: string;
    readonly outcome: string;
  }[];
  readonly invariants: readonly {
    readonly id: InvariantId;
    readonly name: string;
    readonly checked: number;
    readonly broken: number;
    readonly violations: readonly string[];
  }[];
  readonly seconds: number;
  /** What is not as it has to be, each a sentence. */
  readonly problems: readonly string[];
  /** 0: all is well. 1: there are problems. */
  readonly exitStatus: 0 | 1;
}

type NodeCounts = Readonly<Record<NodeClass, number>>;

export interface GoneSummary {
  readonly node: string;
  readonly cordonedAt: string | null;
  readonly lastGameEndedAt: string | null;
  readonly removedAt: string;
  readonly games: number;
  readonly by: 'Berth' | 'failure';
}

export function scalerSummaryOf(facts: ScalerFacts): ScalerSummary {
  const { scene, seed, gone, races, samples } = facts;
  const nodes = nodesOf(facts);
  const games = gamesOf(facts);
  const invariants = invariantsOf(facts);
  const operatorsNode = operatorsNodeOf(facts);
  const ended = gone.filter(({ by }) => by === 'Berth');
  const deletes = facts.deeds.filter((deed) => deed.kind === 'delete-server' && deed.done);
  const withSession = deletes.filter((deed) => deed.kind === 'delete-server' && IN_USE.test(deed.state)).length;
  const machines = {
    ordered: facts.deeds.reduce((sum, deed) => sum + (deed.kind === 'order' ? deed.by : 0), 0),
    ended: ended.length,
    endedEmpty: ended.filter(({ games: left }) => left === 0).length,
    lost: gone.length - ended.length,
    gone: gone.map(
      ({ cordonedAt, lastGameEndedAt, removedAt, ...one }): GoneSummary => ({
        node: one.node,
        cordonedAt: textOf(cordonedAt),
        lastGameEndedAt: textOf(lastGameEndedAt),
        removedAt: isoTime(removedAt),
        games: one.games,
        by: one.by,
      }),
    ),
  };
  const summary = {
    apiVersion: 'berth/v1',
    kind: 'ScalerDemoSummary',
    scene: {
      from: isoTime(scene.from),
      until: isoTime(timeOf(scene, scene.minutes)),
      timezone: scene.timezone,
      replicas: scene.replicas,
      peak: scene.schedule.replicas,
      seed,
    },
    nodes,
    games,
    servers: { deletedByBerth: deletes.length, withSession },
    machines,
    races: { won: races.length, kept: races.filter(({ kept }) => kept).length },
    operatorsNode,
    ticks: tickCountsOf(facts.ticks),
    incidents: incidentsOf(facts),
    invariants,
    seconds: facts.seconds,
  } as const;
  const problems = [...problemsOf(summary, samples.length > 0), ...otherTargets(facts)];
  return { ...summary, problems, exitStatus: problems.length === 0 ? 0 : 1 };
}

/** What the exit status goes by. */
function problemsOf(it: Omit<ScalerSummary, 'problems' | 'exitStatus'>, played: boolean): string[] {
  const { nodes, games, machines, races, operatorsNode, servers, scene } = it;
  const late = nodes.reachedAt === null || nodes.reachedAt > nodes.neededAt;
  const tooMany = nodes.left.filter(({ state, node, games: on }) =>
    state === 'held' ? node !== operatorsNode?.node : state === 'draining' && on === 0,
  );
  const broken = it.invariants.filter((one) => one.broken > 0);
  const { node: held = '', touched = 0, stillCordoned = true } = operatorsNode ?? {};
  return [
    ...(played ? [] : ['nothing was played']),
    ...broken.map(({ id, name, broken: times }) => `${id}, ${name}, is broken ${times} times`),
    ...(late
      ? [`the pool had not come to ${scene.peak} active nodes when they were needed, at ${nodes.neededAt}`]
      : []),
    ...(nodes.end.active === scene.replicas
      ? []
      : [`the pool has ${nodes.end.active} active nodes at the end, not ${scene.replicas}`]),
    ...tooMany.map(({ node, state }) => `${node} is still there at the end, ${state}, and no game is on it`),
    ...(games.endedByBerth === 0 ? [] : [`${games.endedByBerth} games were ended by Berth`]),
    ...(servers.withSession === 0 ? [] : [`${servers.withSession} servers were deleted with a session`]),
    ...(machines.endedEmpty === machines.ended
      ? []
      : [`${machines.ended - machines.endedEmpty} machines were ended with games on them`]),
    ...(races.kept === races.won ? [] : [`${races.won - races.kept} servers were lost that players had got in time`]),
    ...(touched === 0 && stillCordoned
      ? []
      : [
          `${held}, which the operator had cordoned, was changed ${touched} times${stillCordoned ? '' : ', and is not cordoned any more'}`,
        ]),
    ...it.incidents
      .filter(({ outcome }) => outcome.startsWith('BROKEN'))
      .map(({ text, outcome }) => `${text}: ${outcome}`),
  ];
}

/** Ticks that ran, and after which the status told of another target than the timetable's. */
function otherTargets({ samples, ticks }: ScalerFacts): string[] {
  const { idle, busy, twin } = ticksByKind(ticks);
  const ran = new Set([...idle, ...busy, ...twin].map(({ at }) => at));
  const other = samples.filter((one) => ran.has(one.at) && one.effectiveTarget !== one.target);
  const [first] = other;
  if (first === undefined) return [];
  return [
    `at ${isoTime(first.at)} the status has target ${first.effectiveTarget}, by the timetable it is ${first.target}`,
  ];
}

function nodesOf({ scene, samples, gone, left }: ScalerFacts): ScalerSummary['nodes'] {
  const none: NodeCounts = { active: 0, pending: 0, draining: 0, held: 0, lost: 0 };
  const most = samples.reduce((best, { nodes }) => (nodes.active > best.active ? nodes : best), none);
  const reached = samples.find(({ nodes }) => nodes.active >= scene.schedule.replicas)?.at;
  const last = gone.reduce((latest, { removedAt }) => Math.max(latest, removedAt), 0);
  const shrunk = samples.find(
    ({ at, nodes }) => at >= last && at > timeOf(scene, scene.window.closes) && nodes.active === scene.replicas,
  );
  return {
    start: samples[0]?.nodes ?? none,
    peak: most,
    end: samples.at(-1)?.nodes ?? none,
    reachedAt: textOf(reached),
    neededAt: isoTime(timeOf(scene, scene.window.begins)),
    shrunkAt: textOf(shrunk?.at),
    left,
  };
}

/** How a session ended that a machine took along, whoever ended that. */
const FAILED = /was ended (by loss|as unhealthy)$/;

function gamesOf({ games, samples }: ScalerFacts): ScalerSummary['games'] {
  const killed = games.flatMap((game) => (game.killed === undefined ? [] : [game.killed]));
  const lostWithMachine = killed.filter((cause) => FAILED.test(cause)).length;
  const over = games.filter(({ endedAt }) => endedAt !== undefined);
  return {
    begun: games.length,
    played: over.length - killed.length,
    stillPlayed: games.length - over.length,
    mostAtOnce: samples.reduce((most, { servers }) => Math.max(most, servers.allocated), 0),
    lostWithMachine,
    endedByBerth: killed.length - lostWithMachine,
    waited: games.filter(({ waitedSeconds }) => waitedSeconds > SOON_SECONDS).length,
    longestWaitSeconds: games.reduce((most, { waitedSeconds }) => Math.max(most, waitedSeconds), 0),
  };
}

/** Players come and go in steps of a quarter of a minute: who waits no longer has not waited. */
const SOON_SECONDS = 15;

function operatorsNodeOf({
  heldNode,
  deeds,
  ticks,
  incidents,
  scene,
  left,
}: ScalerFacts): ScalerSummary['operatorsNode'] {
  if (heldNode === undefined) return null;
  const minute = incidents.find(({ kind }) => kind === 'cordon')?.minute ?? 0;
  const since = timeOf(scene, minute);
  const of = (deed: (typeof deeds)[number]) => deed.at >= since && 'node' in deed && deed.node === heldNode;
  const servers = deeds.filter((deed) => deed.kind === 'delete-server' && of(deed)).length;
  const ended = deeds.filter((deed) => deed.kind === 'end-machine' && of(deed)).length;
  const changes = ticks.filter(({ at }) => at >= since).flatMap((tick) => tick.changes);
  const own = changes.filter((change) => change.endsWith(` ${heldNode}`)).length;
  const stillCordoned = left.some(({ node, state }) => node === heldNode && state === 'held');
  return { node: heldNode, touched: servers + ended + own, stillCordoned };
}

function incidentsOf(facts: ScalerFacts): ScalerSummary['incidents'] {
  const known: OutcomeFacts = facts;
  return facts.incidents.map((incident) => ({
    at: isoTime(timeOf(facts.scene, incident.minute)),
    kind: incident.kind,
    text: incident.text,
    outcome: outcomeOf(incident, known),
  }));
}

function invariantsOf(facts: ScalerFacts): ScalerSummary['invariants'] {
  const findings = judge(facts);
  return (Object.keys(SCALER_INVARIANTS) as InvariantId[]).map((id) => {
    const { checked, violations } = findings[id];
    const listed = violations.slice(0, LISTED_VIOLATIONS);
    return { id, name: SCALER_INVARIANTS[id], checked, broken: violations.length, violations: listed };
  });
}

function textOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
