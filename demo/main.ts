import { writeFile } from 'node:fs/promises';
import { checkOutputs, type DemoOptions, parseOptions } from './options.ts';
import { reportPage } from './report/page.ts';
import { progressDisplay } from './report/progress.ts';
import { summaryOf } from './report/summary.ts';
import { summaryTable } from './report/summary-table.ts';
import { runDemo } from './run/demo.ts';
import { generateWorkload } from './workload/generate.ts';
import { readOpenb } from './workload/openb.ts';
import { BadInputError } from './workload/problems.ts';

/** `npm run demo`: the main job on real input, from an empty machine to a checked end. */

/** Exit status of a process that a signal ended, as shells have it. */
const ENDED_BY = { SIGINT: 130, SIGTERM: 143 } as const;

/** Thrown where a signal ends the run. */
class StoppedError extends Error {
  override readonly name = 'StoppedError';
  readonly exitStatus: number;

  constructor(signal: keyof typeof ENDED_BY) {
    super(`stopped by ${signal}`);
    this.exitStatus = ENDED_BY[signal];
  }
}

async function main(argv: readonly string[]): Promise<number> {
  const options = parseOptions(argv);
  if (options === undefined) return 0;
  await checkOutputs(options);
  const { files, seed } = options;
  const workload = files === undefined ? generateWorkload(seed) : await readOpenb(files.nodes, files.tasks);
  const display = progressDisplay({
    output: process.stdout,
    tasks: workload.tasks.length,
    quiet: options.quiet,
    clock: () => performance.now(),
  });
  try {
    const { workers } = options;
    const facts = await runDemo({ workload, workers, seed, display, signal: stopSignal() });
    const summary = summaryOf(facts);
    await write(options, JSON.stringify(summary, undefined, 2), () => reportPage(summary, facts.replay, workload));
    process.stdout.write(`\n${summaryTable(summary)}\n`);
    return summary.exitStatus;
  } finally {
    display.end();
  }
}

async function write({ json, report }: DemoOptions, summary: string, page: () => string): Promise<void> {
  if (json !== undefined) await writeFile(json, `${summary}\n`);
  if (report !== undefined) await writeFile(report, page());
}

/** Aborts on the first SIGINT or SIGTERM, so that the engine is stopped; a second one ends the process as usual. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => controller.abort(new StoppedError(signal)));
  }
  return controller.signal;
}

/** What a failure means for the user: text for stderr and the exit status. */
function failure(error: unknown): { text: string; exitStatus: number } {
  if (error instanceof BadInputError) return { text: error.message, exitStatus: 2 };
  if (error instanceof StoppedError) return { text: error.message, exitStatus: error.exitStatus };
  return { text: error instanceof Error ? (error.stack ?? error.message) : String(error), exitStatus: 1 };
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const { text, exitStatus } = failure(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = exitStatus;
}
