import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { SingleBar } from 'cli-progress';
import { Command, CommanderError } from 'commander';
import { isoTime, systemClock } from '../lib/time.ts';
import { Bed } from './bed.ts';
import { bundle } from './bundle.ts';
import { deciding } from './deciding.ts';
import { type Figure, statusOf } from './figure.ts';
import { large } from './large.ts';
import { pools } from './pools.ts';
import { type ReaperPoint, reaper } from './reaper.ts';
import { reaperPage } from './reaper-page.ts';
import { refused } from './refused.ts';
import { scaler } from './scaler.ts';
import { table } from './table.ts';
import { uncontended } from './uncontended.ts';

type OnProgress = (step: string) => void;

/** The benches by name, in the order in which they are run. Those that need the local engine share one. */
const BENCHES: Readonly<Record<string, (engine: () => Promise<Bed>, onProgress: OnProgress) => Promise<Figure[]>>> = {
  deciding: (_engine, onProgress) => deciding(onProgress),
  bundle: async (engine) => bundle(await engine()),
  uncontended: async (engine) => uncontended(await engine()),
  refused: async (engine) => refused(await engine()),
  large: async () => large(),
  pools: async (engine) => pools(await engine()),
  reaper: async () => reaper((points) => drawn.push(...points)),
  scaler: async (_engine, onProgress) => scaler(onProgress),
};

/** What the reaper's experiment has shown, step by step. */
const drawn: ReaperPoint[] = [];

// The warning is for whoever develops Berth, not for whoever measures it.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/** Exit status where nothing was measured. */
const UNUSABLE = 2;

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : UNUSABLE;
}

async function main(args: readonly string[]): Promise<number> {
  const command = new Command('npm run bench --')
    .description('Measures Berth on this machine, beside the bounds that it is to hold.')
    .argument('[BENCH...]', `which: ${Object.keys(BENCHES).join(', ')} (default: all)`)
    .option('--json <file>', 'write the figures to this file too')
    .option(
      '--draw <file>',
      "draw the reaper's experiment on an HTML page: requests per ended task against tasks so far",
    )
    .addHelpText(
      'after',
      '\nExit status: 0, or 1 if a bound is broken that does not depend on the machine, 2 nothing was run.',
    )
    .showHelpAfterError()
    .exitOverride();
  const { args: chosen } = command.parse(args, { from: 'user' });
  const unknown = chosen.filter((name) => !Object.hasOwn(BENCHES, name));
  if (unknown.length > 0) {
    command.error(`error: no bench ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}`);
  }
  const { json, draw } = command.opts<{ json?: string; draw?: string }>();
  if (draw !== undefined && chosen.length > 0 && !chosen.includes('reaper')) {
    command.error('error: --draw draws what the bench reaper measures: name it too');
  }
  const figures = await run(chosen.length === 0 ? Object.keys(BENCHES) : chosen);
  console.log(table(figures));
  if (draw !== undefined) writeFileSync(draw, reaperPage(drawn));
  if (json !== undefined) writeFileSync(json, report(figures));
  return figures.some((figure) => statusOf(figure) === 'broken') ? 1 : 0;
}

async function run(names: readonly string[]): Promise<Figure[]> {
  const progress = startProgress(names.length);
  let bed: Promise<Bed> | undefined;
  const engine = () => {
    bed ??= Bed.start(progress.step);
    return bed;
  };
  const figures: Figure[] = [];
  try {
    for (const [name, bench] of Object.entries(BENCHES)) {
      if (!names.includes(name)) continue;
      progress.step(name);
      figures.push(...(await bench(engine, progress.step)));
      progress.done();
    }
  } finally {
    progress.stop();
    await (await bed)?.stop();
  }
  return figures;
}

interface Progress {
  readonly step: OnProgress;
  done(): void;
  stop(): void;
}

/** A bar on a terminal; elsewhere a line for each step, on the error output: the other holds figures alone. */
function startProgress(total: number): Progress {
  if (!process.stderr.isTTY) {
    return { step: (step) => console.error(`${step} …`), done: () => undefined, stop: () => undefined };
  }
  const bar = new SingleBar({ format: '{bar} {value}/{total} {now}', clearOnComplete: true, stream: process.stderr });
  bar.start(total, 0, { now: '' });
  return {
    step: (step) => bar.update({ now: step }),
    done: () => bar.increment(),
    stop: () => bar.stop(),
  };
}

function report(figures: readonly Figure[]): string {
  const content = {
    at: isoTime(systemClock()),
    node: process.version,
    cores: availableParallelism(),
    figures: figures.map((figure) => ({ ...figure, status: statusOf(figure) })),
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
