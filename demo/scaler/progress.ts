import { clockTime, whole } from '../numbers.ts';
import { type Display, type DisplayOptions, displayOf } from '../report/display.ts';
import type { Sample } from './census.ts';
import type { Scene } from './scene.ts';

export interface ScalerProgress extends Sample {
  readonly minute: number;
  readonly playing: number;
}

export type ScalerDisplay = Display<ScalerProgress>;

/** Shows what time it is in the scene, and what is there. */
export function scalerDisplay(
  options: DisplayOptions,
  { minutes, timezone }: Pick<Scene, 'minutes' | 'timezone'>,
): ScalerDisplay {
  return displayOf(options, {
    bar: '{bar} {time} | target {target} | {active} active, {pending} pending, {draining} draining, {held} held | {games}',
    shown: ({ minute, at, target, nodes, playing }) => ({
      done: minute,
      of: minutes,
      words: {
        time: clockTime(at, timezone),
        target: whole(target),
        active: whole(nodes.active),
        pending: whole(nodes.pending),
        draining: whole(nodes.draining),
        held: whole(nodes.held),
        games: playing === 1 ? '1 game' : `${whole(playing)} games`,
      },
    }),
    line: ({ time, target, active, pending, draining, held, games }) =>
      `${time}: target ${target}; ${active} active, ${pending} pending, ${draining} draining, ${held} held; ${games}`,
  });
}
