import { type EpochMs, isoTime } from '../../lib/time.ts';
import { totalUsage } from '../../local/dynamodb/usage.ts';
import { seededRandom } from '../workload/random.ts';
import { censusOf, isCordoned, isMarked, type Sample } from './census.ts';
import type { GoneMachine, Tick } from './deeds.ts';
import type { LeftNode, ScalerFacts } from './facts.ts';
import { type Game, Games } from './games.ts';
import { Incidents } from './incidents.ts';
import { playersOf } from './players.ts';
import type { ScalerDisplay } from './progress.ts';
import { momentOf, OBJECT, type Scene, SHORT_MS, targetAt, timeOf } from './scene.ts';
import type { Stage } from './stage.ts';
import { Witness } from './witness.ts';

const SCALER = 'NodeScaler';
/** Steps of players between two ticks. */
const STEPS_PER_MINUTE = 4;

export interface PlaySettings {
  readonly scene: Scene;
  readonly seed: number;
  readonly display: ScalerDisplay;
  /** Milliseconds of the machine's clock, from any start. */
  readonly clock: () => number;
}

/** Plays the scene on its stage minute by minute, and looks at what is left. */
export async function play(
  { scene, seed, display, clock }: PlaySettings,
  stage: Stage,
  signal: AbortSignal,
): Promise<ScalerFacts> {
  const { engine, outside } = stage;
  const { replicas, max, serversPerNode, buffer } = scene;
  const most = serversPerNode * Math.max(scene.schedule.replicas, replicas);
  const games = new Games({ outside, players: playersOf(scene, seed), buffer, most });
  const incidents = new Incidents({ stage, scene, games, random: seededRandom(seed + 1) });
  const target = (at: EpochMs) => targetAt(scene, at);
  const witness = new Witness({
    ...{ outside, target, clock: () => momentOf(stage.clock.now()) },
    isIntended: (instance) => stage.isIntended(instance),
    beforeDelete: (server) => incidents.race(server),
  });
  display.step(
    `playing ${scene.minutes} minutes, ${replicas} nodes, ${scene.schedule.replicas} in the evening, at most ${max}`,
  );
  const [samples, ticks]: [Sample[], Tick[]] = [[], []];
  let twin: string | undefined;
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => undefined);
  const began = clock();
  for (let minute = 0; minute <= scene.minutes; minute += 1) {
    signal.throwIfAborted();
    const at = timeOf(scene, minute);
    if (minute > 0) passMinute(stage, games, timeOf(scene, minute - 1));
    await incidents.before(minute);
    witness.take();
    const [asked, used] = [outside.requests.length, asks(stage)];
    // The schedule sees the new minute when it looks next, and runs the tick of it.
    stage.clock.set(at);
    const doubled = minute === scene.incidents.twin ? deliver(stage, at) : undefined;
    await Promise.race([engine.eventSources.idle(SCALER), aborted]);
    twin = (await doubled) ?? twin;
    const { kubernetes, changes } = witness.take();
    const aws = outside.requests.slice(asked).filter(({ service }) => service !== 'kubernetes').length;
    const dynamodb = asks(stage) - used;
    if (minute > 0) ticks.push({ at, kubernetes, aws, dynamodb, changes, events: incidents.eventsOf(minute) });
    const sample = sampleOf(stage, scene, at, games.waiting);
    samples.push(sample);
    display.progress({ ...sample, minute, playing: games.playing.length });
  }
  display.end();
  return {
    ...{ scene, seed, samples, ticks, twin, games: games.all, incidents: incidents.told, heldNode: incidents.heldNode },
    deeds: witness.deeds,
    moves: witness.moves,
    sets: witness.sets,
    gone: goneMachines(witness, games.all),
    left: leftNodes(stage),
    races: incidents.raced.map((server) => ({ server, kept: wasKept(games, server) })),
    violations: outside.violations,
    seconds: (clock() - began) / 1000,
  };
}

/** Players come and go in between. */
function passMinute({ clock, outside }: Stage, games: Games, from: EpochMs): void {
  for (let step = 1; step <= STEPS_PER_MINUTE; step += 1) {
    const at = (from + (step * 60_000) / STEPS_PER_MINUTE) as EpochMs;
    clock.set((at - SHORT_MS) as EpochMs);
    outside.settle();
    games.advance(at);
  }
}

/** Hands the tick of this minute over once more, beside the schedule; what came of it. */
async function deliver({ engine }: Stage, at: EpochMs): Promise<string> {
  const event = { apiVersion: 'berth/v1', kind: 'ScalerTick', scheduledTime: isoTime(at) };
  const result = await engine.functions.get(SCALER)?.invoke(event);
  if (result?.status !== 'returned') return 'failed';
  const { clusters } = JSON.parse(result.payload) as { clusters: readonly { readonly outcome: string }[] };
  return clusters[0]?.outcome ?? 'none';
}

function sampleOf({ outside }: Stage, scene: Scene, at: EpochMs, waiting: number): Sample {
  const status = outside.cluster().store.get('gameservernodes', OBJECT)?.status;
  const conditions: readonly { type: string; status: string; reason: string }[] = status?.conditions ?? [];
  const degraded = conditions.find((one) => one.type === 'Degraded' && one.status === 'True')?.reason;
  const effectiveTarget = status?.effectiveTarget as number | undefined;
  return { ...censusOf(outside), at, waiting, effectiveTarget, degraded, target: targetAt(scene, at) };
}

function goneMachines({ deeds, removed }: Witness, games: readonly Game[]): GoneMachine[] {
  return [...removed].map(([node, removedAt]): GoneMachine => {
    const of = deeds.filter((deed) => 'node' in deed && deed.node === node);
    const end = of.find((deed) => deed.kind === 'end-machine');
    const here = games.filter((game) => game.node === node);
    const lastGameEndedAt = here.reduce<EpochMs | undefined>((last, { endedAt }) => {
      return endedAt !== undefined && endedAt > (last ?? 0) ? endedAt : last;
    }, undefined);
    return {
      node,
      cordonedAt: of.findLast((deed) => deed.kind === 'cordon')?.at,
      lastGameEndedAt,
      endedAt: end?.at,
      removedAt,
      games: end?.games ?? here.filter(({ killed }) => killed !== undefined).length,
      by: end === undefined ? 'failure' : 'Berth',
    };
  });
}

function leftNodes({ outside }: Stage): LeftNode[] {
  const nodes = outside.cluster().store.list('nodes');
  return nodes.map((node) => {
    const { name } = node.metadata;
    const state = !isCordoned(node) ? 'active' : isMarked(node) ? 'draining' : 'held';
    const servers = outside.cluster().store.list('gameservers');
    const games = servers.filter(({ status }) => status?.nodeName === name && status?.state === 'Allocated').length;
    return { node: name, games, state };
  });
}

function wasKept(games: Games, server: string): boolean {
  return games.all.some((game) => game.server === server && game.killed === undefined);
}

/** Requests of the scaler to DynamoDB, since the engine started. */
function asks({ engine }: Stage): number {
  return totalUsage(engine.meter.read()[SCALER]).requests;
}
