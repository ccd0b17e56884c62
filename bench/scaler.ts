import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type EpochMs, isoTime, systemClock } from '../lib/time.ts';
import { type Engine, startEngine } from '../local/engine.ts';
import { type Outside, startOutside } from '../local/outside/outside.ts';
import { synthesize } from '../local/synthesize.ts';
import type { Figure } from './figure.ts';
import { type Crowd, crowd, poolsOf } from './scaler-crowd.ts';

/** The node scaler, as the engine and its meter name it. */
const SCALER = 'NodeScaler';
const MINUTE_MS = 60_000;

/** A whole cluster as large as Agones recommends, twice over. */
const LARGE: Crowd = { pools: 10, nodes: 1_000, pods: 20_000, gameServers: 10_000 };
/** Pools of which nothing is to be done with any. */
const IDLE_POOLS = [1, 25] as const;

const MOST_LISTS = 3;
const MOST_MIB = 256;
const MOST_SECONDS = 5;
const MOST_KIB = 2.2 * 1024;

/** What a tick of the node scaler asks for and takes: of a large cluster, and where there is nothing to do. */
export async function scaler(onProgress: (step: string) => void): Promise<Figure[]> {
  const assembly = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  try {
    await synthesize(assembly);
    return await measured(assembly, onProgress);
  } finally {
    rmSync(assembly, { recursive: true, force: true });
  }
}

async function measured(assembly: string, onProgress: (step: string) => void): Promise<Figure[]> {
  const figures: Figure[] = [];
  onProgress('scaler: a cluster of 1,000 nodes, 20,000 pods and 10,000 game servers');
  figures.push(...(await withCrowd(LARGE, assembly, large)));
  const idle: number[] = [];
  for (const pools of IDLE_POOLS) {
    onProgress(`scaler: an idle tick over ${pools} pools`);
    const few = { pools, nodes: pools * 2, pods: pools * 4, gameServers: pools * 2 };
    idle.push(await withCrowd(few, assembly, requestsWhenIdle));
  }
  const [least = Number.NaN, most = Number.NaN] = idle;
  figures.push(
    count('requests of an idle tick, 1 pool', least, {}),
    count(`requests of an idle tick, ${IDLE_POOLS[1]} pools`, most, { atMost: least }),
  );
  return figures;
}

function count(what: string, value: number, rest: Partial<Figure>): Figure {
  return { bench: 'scaler', what, value, unit: '', kind: 'count', ...rest };
}

interface Bed {
  readonly engine: Engine;
  readonly outside: Outside;
}

async function withCrowd<T>(of: Crowd, assembly: string, measure: (bed: Bed) => Promise<T>): Promise<T> {
  const outside = await startOutside({
    clock: systemClock,
    dynamics: false,
    clusters: [
      {
        ...{ name: 'local', region: 'us-east-1', nodegroups: poolsOf(of) },
        access: { secretOf: (id) => (id === 'local' ? 'local' : undefined) },
      },
    ],
  });
  try {
    crowd(outside, of);
    const engine = await startEngine({ assembly, outside: outside.endpoints });
    try {
      return await measure({ engine, outside });
    } finally {
      await engine.stop();
    }
  } finally {
    await outside.close();
  }
}

/**
 * Imports the bundle in a process of its own, as Lambda does, and runs two ticks a minute apart: a cold one and a warm one.
 * The memory is that of the whole process, Node included.
 */
const SCRIPT = `
const { handler } = await import(process.argv[1]);
const context = { awsRequestId: 'bench', getRemainingTimeInMillis: () => 55_000 };
const seconds = [];
for (const scheduledTime of process.argv.slice(2)) {
  const begin = performance.now();
  const { clusters } = await handler({ apiVersion: 'berth/v1', kind: 'ScalerTick', scheduledTime }, context);
  seconds.push((performance.now() - begin) / 1000);
  if (clusters[0].outcome !== 'done') throw new Error('the tick came to ' + JSON.stringify(clusters));
}
process.stderr.write(JSON.stringify({ seconds, mib: process.resourceUsage().maxRSS / 1024 }));
process.exit(0);
`;

async function large({ engine, outside }: Bed): Promise<Figure[]> {
  const definition = engine.functions.get(SCALER)?.definition;
  if (!definition) throw new Error(`there is no function ${SCALER}`);
  const now = systemClock();
  const times = [-1, 0].map((minutes) => isoTime((now + minutes * MINUTE_MS) as EpochMs));
  const url = pathToFileURL(definition.bundle).href;
  const before = outside.requests.length;
  const { stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', SCRIPT, url, ...times],
    { env: { ...definition.environment }, maxBuffer: 16 * 1024 * 1024 },
  );
  const { seconds, mib } = JSON.parse(stderr.slice(stderr.lastIndexOf('{"seconds"'))) as {
    readonly seconds: readonly [number, number];
    readonly mib: number;
  };
  mustBeAtTarget(outside);
  const lists = outside.requests
    .slice(before)
    .map(({ operation }) => operation)
    .filter((operation) => /^list (nodes|pods|gameservers)$/.test(operation));
  const clock = (what: string, value: number, unit: string, atMost: number): Figure => {
    return { bench: 'scaler', what, value, unit, atMost, kind: 'clock' };
  };
  return [
    count('lists of the cluster, a tick', new Set(lists).size, { atMost: MOST_LISTS }),
    count('pages of these lists, a tick', lists.length / times.length, {}),
    clock('a tick over the large cluster, cold', seconds[0], 's', MOST_SECONDS),
    clock('a tick over the large cluster, warm', seconds[1], 's', MOST_SECONDS),
    // The same on every machine but for when the garbage is collected, which is why it may be slow and is never broken.
    clock('memory of the process of both', mib, 'MiB', MOST_MIB),
    count('bundle, minified', statSync(definition.bundle).size / 1024, { unit: 'KiB', atMost: MOST_KIB }),
  ];
}

/** Requests to EKS, Auto Scaling, the cluster and DynamoDB. The tick before has written the statuses. */
async function requestsWhenIdle({ engine, outside }: Bed): Promise<number> {
  const tick = async (minutes: number) => {
    const scheduledTime = isoTime((systemClock() + minutes * MINUTE_MS) as EpochMs);
    const result = await engine.functions.get(SCALER)?.invoke({
      ...{ apiVersion: 'berth/v1', kind: 'ScalerTick' },
      scheduledTime,
    });
    if (result?.status !== 'returned') throw new Error(`the tick failed: ${JSON.stringify(result)}`);
  };
  await tick(-1);
  const ofTables = () =>
    Object.values(engine.meter.read()[SCALER] ?? {}).reduce((sum, { requests }) => sum + requests, 0);
  const total = () => outside.requests.length + ofTables();
  const before = total();
  await tick(0);
  const asked = total() - before;
  mustBeAtTarget(outside);
  return asked;
}

/** What costs little since it failed would be no figure. */
function mustBeAtTarget(outside: Outside): void {
  for (const { metadata, status } of outside.cluster().store.list('gameservernodes')) {
    const conditions: readonly { type: string; status: string }[] = status?.conditions ?? [];
    if (conditions.some(({ type, status: is }) => type === 'AtTarget' && is === 'True')) continue;
    throw new Error(`${metadata.name} is not at its target: ${JSON.stringify(status)}`);
  }
}
