import { figure, simulatedTime, whole } from '../numbers.ts';
import type { Progress } from '../run/replay.ts';
import { type Display, type DisplayOptions, displayOf } from './display.ts';

export type ProgressDisplay = Display<Progress>;

/** Shows how far the replay is. */
export function progressDisplay(options: DisplayOptions): ProgressDisplay {
  const rate = rateOf(options.clock);
  return displayOf(options, {
    bar: '{bar} {percentage}% | {placed} placed, {ended} ended of {tasks} | {day} | {rate} plans/s',
    shown: ({ tasks, placed, ended, now, plans }) => ({
      done: placed + ended,
      of: 2 * tasks,
      words: {
        tasks: whole(tasks),
        placed: whole(placed),
        ended: whole(ended),
        day: simulatedTime(now),
        rate: rate(plans),
      },
    }),
    line: ({ day, placed, ended, tasks, rate: plans }) =>
      `${day}: ${placed} placed, ${ended} ended of ${tasks}, ${plans} plans a second`,
  });
}

/** Plans a second since the first call. */
function rateOf(clock: () => number): (plans: number) => string {
  let since: number | undefined;
  return (plans) => {
    since ??= clock();
    const seconds = (clock() - since) / 1000;
    return figure(seconds > 0 ? plans / seconds : 0);
  };
}
