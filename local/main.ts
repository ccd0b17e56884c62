import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { type Engine, startEngine } from './engine.ts';
import { writeKubeconfig } from './kubeconfig-file.ts';
import { formatLogLine } from './log.ts';
import { exportLines, summary } from './main-output.ts';
import type { Outside } from './outside/outside.ts';
import { startStandingCluster } from './outside/standing-cluster.ts';
import { readableLine } from './readable-line.ts';

interface Options {
  readonly data?: string;
  readonly writeEnv?: string;
  readonly kubeconfig?: string;
  readonly quiet?: true;
}

// The warning is for whoever develops Berth, not for whoever starts it.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const options = new Command('npm start --')
  .description('Starts Berth on this machine: DynamoDB, SQS, the functions as they are deployed. Ctrl-C ends it.')
  .option('--data <dir>', 'keep tables and queues in this directory (default: in memory, gone at the end)')
  // Not --env-file: Node 20 takes that for its own, wherever it stands.
  .option('--write-env <file>', 'write the environment variables for clients to this file')
  .option('--kubeconfig <file>', 'simulate a cluster for the node scaler too, and write its kubeconfig to this file')
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
  const progress = (step: string) => console.log(`[${((performance.now() - begin) / 1000).toFixed(1)} s] ${step}`);
  const { data: dataDir, writeEnv, kubeconfig } = options;
  const cluster = kubeconfig === undefined ? undefined : await startCluster(kubeconfig, progress);
  const engine = await startEngine({
    dataDir,
    outside: cluster?.endpoints,
    schedules: true,
    onProgress: progress,
    onLog: (entry) => {
      const line = readableLine(entry.line);
      if (options.quiet === undefined && line !== undefined) console.log(formatLogLine({ ...entry, line }));
    },
  });
  if (writeEnv !== undefined) writeFileSync(writeEnv, `${exportLines(engine.env).join('\n')}\n`);
  progress(`ready\n\n${summary(engine, { env: writeEnv, kubeconfig })}\n`);
  return await untilStopped(engine, cluster);
}

async function startCluster(kubeconfig: string, progress: (step: string) => void): Promise<Outside> {
  progress('starting a simulated cluster');
  const cluster = await startStandingCluster();
  writeKubeconfig(kubeconfig, cluster.kubernetes.kubeconfig());
  return cluster;
}

/** The exit status: 0 when somebody asked for the end. */
async function untilStopped(engine: Engine, cluster: Outside | undefined): Promise<number> {
  const failure = await Promise.race([stopRequested, engine.failed]);
  if (failure !== undefined) console.error(failure.message);
  console.log('stopping');
  await engine.stop();
  await cluster?.close();
  console.log('stopped');
  return failure === undefined ? 0 : 1;
}
