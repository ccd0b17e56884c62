import { checkOutputs, type DemoOptions, parseOptions, type WorkloadDemoOptions } from './options.ts';
import { progressDisplay } from './report/progress.ts';
import { jsonText, writeAsked } from './report/written-file.ts';
import { StoppedError, stopSignal } from './stop-signal.ts';
import { badNodesFor, withBadNodes } from './workload/bad-nodes.ts';
import { generateWorkload } from './workload/generate.ts';
import { readOpenb } from './workload/openb.ts';
import { BadInputError } from './workload/problems.ts';

/** `npm run demo`: the main job on real input, from nothing that runs to a checked end. */

// The warning is for whoever develops Berth, not for whoever tries it.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const clock = () => performance.now();

/** Runs the demo; answers with the exit status. */
async function demo(options: DemoOptions): Promise<number> {
  await checkOutputs(options);
  if (options.kind === 'workload') return workloadDemo(options);
  const signal = stopSignal();
  const { scalerDemo } = await import('./scaler/demo.ts');
  return scalerDemo({ ...options, output: process.stdout, clock, signal });
}

async function workloadDemo(options: WorkloadDemoOptions): Promise<number> {
  const { files, seed, workers, quiet } = options;
  const plain = files === undefined ? generateWorkload(seed) : await readOpenb(files.nodes, files.tasks);
  const badNodes = badNodesFor(plain, options.badNodes);
  const workload = withBadNodes(plain, badNodes);
  const signal = stopSignal();
  const display = progressDisplay({ output: process.stdout, quiet, clock });
  try {
    // The engine takes a second to load: who mistyped a file name does not wait for it.
    const [{ runDemo }, { summaryOf }] = await Promise.all([import('./run/demo.ts'), import('./report/summary.ts')]);
    const facts = await runDemo({ workload, badNodes, workers, seed, display, clock, signal });
    const summary = summaryOf(facts);
    const { summaryTable } = await import('./report/summary-table.ts');
    process.stdout.write(`\n${summaryTable(summary)}\n`);
    const { reportPage } = await import('./report/page.ts');
    const written = { output: process.stdout, quiet };
    await writeAsked(written, 'summary', options.json, () => jsonText(summary));
    await writeAsked(written, 'report', options.report, () => reportPage(summary, facts.replay, workload));
    return summary.exitStatus;
  } finally {
    display.end();
  }
}

/** What a failure means for the user: text for stderr and the exit status. */
function failure(error: unknown): { readonly text: string; readonly exitStatus: number } {
  if (error instanceof BadInputError) return { text: error.message, exitStatus: 2 };
  if (error instanceof StoppedError) return { text: error.message, exitStatus: error.exitStatus };
  return { text: error instanceof Error ? (error.stack ?? error.message) : String(error), exitStatus: 1 };
}

try {
  const options = parseOptions(process.argv.slice(2));
  process.exitCode = options === undefined ? 0 : await demo(options);
} catch (error) {
  const { text, exitStatus } = failure(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = exitStatus;
}
