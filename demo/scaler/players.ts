import type { EpochMs } from '../../lib/time.ts';
import { lognormal, type Random, seededRandom } from '../workload/random.ts';
import { type PlayersSettings, type Scene, timeOf } from './scene.ts';

/** Somebody who wants to play, and for how long. */
export interface Player {
  readonly at: EpochMs;
  readonly minutes: number;
}

const SIGMA = 0.45;
const SHORTEST_MINUTES = 2;
const LONGEST_MINUTES = 60;

/** Players in the order of their time: of a Poisson process whose rate keeps as many games going as are asked for. */
export function playersOf(scene: Scene, seed: number): Player[] {
  const random = seededRandom(seed);
  const { players: settings, minutes } = scene;
  const mean = settings.medianMinutes * Math.exp((SIGMA * SIGMA) / 2);
  const most = Math.max(...settings.demand.map(([, games]) => games)) / mean;
  const players: Player[] = [];
  // Thinning (Lewis and Shedler): of a process at the highest rate each is kept with the chance of its moment's rate.
  for (let minute = gap(random, most); minute < minutes; minute += gap(random, most)) {
    if (random.fraction() * most >= demandAt(settings, minute) / mean) continue;
    players.push({ at: timeOf(scene, minute), minutes: lengthAt(settings, minute, random) });
  }
  return players;
}

/** Games at once that there are to be at a minute. */
export function demandAt({ demand }: Pick<PlayersSettings, 'demand'>, minute: number): number {
  const after = demand.findIndex(([at]) => at > minute);
  const [next, last] = [demand[after], demand[after === -1 ? demand.length - 1 : after - 1]];
  if (last === undefined) return next?.[1] ?? 0;
  if (next === undefined) return last[1];
  return last[1] + ((next[1] - last[1]) * (minute - last[0])) / (next[0] - last[0]);
}

function lengthAt({ medianMinutes, long }: PlayersSettings, minute: number, random: Random): number {
  const [shortest, longest] = long.minutes;
  const goesOn = minute >= long.from && minute < long.until && random.fraction() < long.share;
  if (goesOn) return shortest + random.fraction() * (longest - shortest);
  return Math.min(LONGEST_MINUTES, Math.max(SHORTEST_MINUTES, lognormal(random, medianMinutes, SIGMA)));
}

function gap(random: Random, rate: number): number {
  return -Math.log(1 - random.fraction()) / rate;
}
