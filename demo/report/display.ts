import { SingleBar } from 'cli-progress';

/** Milliseconds between two lines where there is no terminal. */
const LINE_EVERY_MS = 5_000;

export interface DisplayOptions {
  readonly output: NodeJS.WriteStream;
  readonly quiet: boolean;
  /** Milliseconds of the machine's clock, from any start. */
  readonly clock: () => number;
}

/** How progress of one kind looks. */
export interface ProgressForm<P> {
  /** Of the bar on a terminal, in the words of cli-progress. */
  readonly bar: string;
  /** How far the bar is, of what, and what its format has names for. */
  shown(progress: P): { readonly done: number; readonly of: number; readonly words: Readonly<Record<string, string>> };
  /** A line where there is no terminal, made of the same words. */
  line(words: Readonly<Record<string, string>>): string;
}

/** Shows how far something is: a bar on a terminal, else a line every few seconds. */
export interface Display<P> {
  /** What is being done now. */
  step(text: string): void;
  progress(progress: P): void;
  /** Puts away what is drawn. */
  end(): void;
}

export function displayOf<P>(options: DisplayOptions, form: ProgressForm<P>): Display<P> {
  if (options.quiet) return { step: nothing, progress: nothing, end: nothing };
  return options.output.isTTY ? bar(options, form) : lines(options, form);
}

function bar<P>({ output }: DisplayOptions, form: ProgressForm<P>): Display<P> {
  const drawn = new SingleBar({
    format: form.bar,
    stream: output,
    hideCursor: true,
    clearOnComplete: true,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    fps: 8,
  });
  let drawing = false;
  return {
    step: (text) => void output.write(`${text}\n`),
    progress(progress) {
      const { done, of, words } = form.shown(progress);
      if (!drawing) drawn.start(of, 0, words);
      drawing = true;
      drawn.update(done, words);
    },
    end() {
      if (drawing) drawn.stop();
      drawing = false;
    },
  };
}

function lines<P>({ output, clock }: DisplayOptions, form: ProgressForm<P>): Display<P> {
  let last = Number.NEGATIVE_INFINITY;
  return {
    step: (text) => void output.write(`${text}\n`),
    progress(progress) {
      const { words } = form.shown(progress);
      if (clock() - last < LINE_EVERY_MS) return;
      last = clock();
      output.write(`${form.line(words)}\n`);
    },
    end: nothing,
  };
}

function nothing(): void {
  // Nothing is shown, or nothing is to be put away.
}
