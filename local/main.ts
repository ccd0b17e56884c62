import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { type Engine, startEngine } from './engine.ts';
import { formatLogLine } from './log.ts';
import { exportLines, summary } from './main-output.ts';

interface Options {
  readonly data?: string;
  readonly writeEnv?: string;
  readonly quiet?: true;
}

// The warning is for whoever develops Berth, not for whoever starts it.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const options = new Command('npm start --')
  .description('Starts Berth on this machine: DynamoDB, SQS, the functions as they are deployed. Ctrl-C ends it.')
  .option('--data <dir>', 'keep tables and queues in this directory (default: in memory, gone at the end)')
  // Not --env-file: Node 20 takes that for its own, wherever it stands.
  .option('--write-env <file>', 'write the environment variables for clients to this file')
  .option('--quiet', 'print no lines of log')
  .helpOption('--help', 'show this help')
  .allowExcessArguments(false)
  .parse()
  .opts<Options>();

/** What npm passes on and what the terminal sends arrive both: one Ctrl-C is two signals. */
const SAME_SIGNAL_MS = 1_000;

const stopRequested = new Promise<void>((resolve) => {
  let first: number | undefined;
  const onSignal = () => {
    first ??= Date.now();
    resolve();
    // Asked again, it does not wait for invocations; what it started ends with it all the same.
    if (Date.now() - first > SAME_SIGNAL_MS) process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
});

try {
  process.exitCode = await run();
} catch (error) {
  console.error(`Cannot start: ${(error as Error).message}`);
  process.exitCode = 1;
}
// A client somewhere that was forgotten must not hold the process.
process.exit();

async function run(): Promise<number> {
  const begin = performance.now();
  const seconds = () => ((performance.now() - begin) / 1000).toFixed(1);
  const engine = await startEngine({
    dataDir: options.data,
    schedules: true,
    onProgress: (step) => console.log(`[${seconds()} s] ${step}`),
    onLog: (line) => {
      if (options.quiet === undefined) console.log(formatLogLine(line));
    },
  });
  if (options.writeEnv !== undefined) writeFileSync(options.writeEnv, `${exportLines(engine.env).join('\n')}\n`);
  console.log(`[${seconds()} s] ready\n\n${summary(engine, options.writeEnv)}\n`);
  return await untilStopped(engine);
}

/** The exit status: 0 when somebody asked for the end. */
async function untilStopped(engine: Engine): Promise<number> {
  const failure = await Promise.race([stopRequested, engine.failed]);
  if (failure !== undefined) console.error(failure.message);
  console.log('stopping');
  await engine.stop();
  console.log('stopped');
  return failure === undefined ? 0 : 1;
}
