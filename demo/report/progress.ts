import { SingleBar } from 'cli-progress';
import { figure, simulatedTime, whole } from '../numbers.ts';
import type { Progress } from '../run/replay.ts';

/** Milliseconds between two lines where there is no terminal. */
const LINE_EVERY_MS = 5_000;

/** Shows how far a run is. */
export interface ProgressDisplay {
  /** What is being done now. */
  step(text: string): void;
  /** How far the replay is. */
  replay(progress: Progress): void;
  /** Puts away what is drawn. */
  end(): void;
}

export interface ProgressOptions {
  readonly output: NodeJS.WriteStream;
  readonly quiet: boolean;
  /** Milliseconds of the machine's clock, from any start. */
  readonly clock: () => number;
}

export function progressDisplay(options: ProgressOptions): ProgressDisplay {
  if (options.quiet) return { step: nothing, replay: nothing, end: nothing };
  return options.output.isTTY ? bar(options) : lines(options);
}

function bar({ output, clock }: ProgressOptions): ProgressDisplay {
  const format = '{bar} {percentage}% | {placed} placed, {ended} ended of {tasks} | {day} | {rate} plans/s';
  const drawn = new SingleBar({
    format,
    stream: output,
    hideCursor: true,
    clearOnComplete: true,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    fps: 8,
  });
  const rate = rateOf(clock);
  let drawing = false;
  return {
    step: (text) => void output.write(`${text}\n`),
    replay(progress) {
      const payload = { ...shown(progress), rate: rate(progress.plans) };
      if (!drawing) drawn.start(2 * progress.tasks, 0, payload);
      drawing = true;
      drawn.update(progress.placed + progress.ended, payload);
    },
    end() {
      if (drawing) drawn.stop();
      drawing = false;
    },
  };
}

function lines({ output, clock }: ProgressOptions): ProgressDisplay {
  const rate = rateOf(clock);
  let last = Number.NEGATIVE_INFINITY;
  return {
    step: (text) => void output.write(`${text}\n`),
    replay(progress) {
      if (clock() - last < LINE_EVERY_MS) return;
      last = clock();
      const { placed, ended, tasks, day } = shown(progress);
      output.write(`${day}: ${placed} placed, ${ended} ended of ${tasks}, ${rate(progress.plans)} plans a second\n`);
    },
    end: nothing,
  };
}

function nothing(): void {
  // Nothing is shown, or nothing is to be put away.
}

function shown({ tasks, placed, ended, now }: Progress) {
  return { tasks: whole(tasks), placed: whole(placed), ended: whole(ended), day: simulatedTime(now) };
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
