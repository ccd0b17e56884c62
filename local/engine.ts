import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLUSTERS_ENV, TABLES, type TableName, type TableNames, tableNamesFromEnv } from '../lib/store/tables.ts';
import { type Clock, systemClock } from '../lib/time.ts';
import { Cleanup } from './cleanup.ts';
import { DataDirectory } from './data-directory.ts';
import { Meter } from './dynamodb/meter.ts';
import { createTables, startDynamoDb } from './dynamodb/start-dynamodb.ts';
import { type BusEvent, startEventBus } from './event-bus/server.ts';
import type { EventSourceContext } from './event-sources/event-source.ts';
import { EventSources } from './event-sources/event-sources.ts';
import { mappedSources, scheduledSources } from './event-sources/start.ts';
import { CheckpointStore } from './event-sources/stream-progress.ts';
import { ENGINE_ENV, engineMark, type ForeignEndpoints, foreignEndpoints } from './foreign-endpoint.ts';
import type { FunctionRunner } from './functions/function-runner.ts';
import type { MovableClock } from './functions/movable-clock.ts';
import { startFunctions } from './functions/start-functions.ts';
import { clientEnvironment, type Endpoints, type Outside } from './local-environment.ts';
import { LogFile, type LogLine } from './log.ts';
import type { CreatedQueue } from './sqs/create-queues.ts';
import { startSqs } from './sqs/start-sqs.ts';
import { synthesize } from './synthesize.ts';
import { readCloudAssembly } from './template/cloud-assembly.ts';
import { defineEventBuses } from './template/event-buses.ts';
import { checkTypes } from './template/known-types.ts';
import { defineRoles } from './template/roles.ts';
import { Resources } from './template/scope.ts';

const REGION = 'us-east-1';
const ACCOUNT = '000000000000';
/** Invocations of one function at once, unless told otherwise: more than a developer's machine has cores. */
const MAX_CONCURRENCY = 8;
/** How long a stop waits for invocations under way, milliseconds, unless told otherwise. */
const GRACE_MS = 10_000;

export interface EngineOptions {
  /** Directory that keeps tables and queues over a restart. Default: they live in memory and end with the engine. */
  readonly dataDir?: string | undefined;
  /** Directory of a cloud assembly, as `synthesize` writes it. Default: the app is synthesized, which takes seconds. */
  readonly assembly?: string | undefined;
  /** Whose event sources wait for `eventSources.resume`: those of the functions of these names, or all. Default: none. */
  readonly paused?: 'all' | readonly string[] | undefined;
  /** Visibility time-out of all queues, in place of what the template says: how soon a failed message comes again. */
  readonly visibilitySeconds?: number | undefined;
  /** Invocations of one function at once; default 8. What the template says is a limit beside it. */
  readonly maxConcurrency?: number | undefined;
  /** How long `stop` waits for invocations under way before it ends them, milliseconds; default 10,000. */
  readonly graceMs?: number | undefined;
  /** Another DynamoDB, such as DynamoDB Local. Default: AWS_ENDPOINT_URL_DYNAMODB, unless it is an engine's; or else one is started. */
  readonly dynamodbEndpoint?: string | undefined;
  /** Another SQS. Default: AWS_ENDPOINT_URL_SQS, unless it is an engine's; or else one is started. */
  readonly sqsEndpoint?: string | undefined;
  /** Told what the engine is about to do, while it starts. */
  readonly onProgress?: ((step: string) => void) | undefined;
  readonly onLog?: ((line: LogLine) => void) | undefined;
  /**
   * Time of the queues and of how old changes in a stream are, for tests that do not want to wait for a visibility
   * time-out or a batching window. Default: the system's.
   */
  readonly clock?: Clock | undefined;
  /** Time that the functions see and schedules go by, for tests about minutes and days. Default: the system's. */
  readonly functionClock?: MovableClock | undefined;
  /**
   * Simulated EKS and Auto Scaling, as `startOutside` gives their endpoints. Default: none, and the node scaler, which is
   * there all the same, finds no cluster; its schedule does not run then.
   */
  readonly outside?: Outside | undefined;
  /**
   * Whether the schedules of the template run; default false: whoever starts an engine to test something is not to find a
   * sweep in it. They are read and checked in any case.
   */
  readonly schedules?: boolean | undefined;
  /** Every how manieth batch of a stream is delivered once more, behind later ones; default: none is. Lambda promises no less. */
  readonly redeliverEvery?: number | undefined;
  /** Told of every event that a function puts onto the event bus. */
  readonly onEvent?: ((event: BusEvent) => void) | undefined;
}

export interface Engine {
  /** Where clients reach the services. Requests at `dynamodb` are metered as those of `client`. */
  readonly endpoints: Endpoints;
  /** Services that it has not started: what they hold outlives it. */
  readonly foreign: ForeignEndpoints;
  readonly region: string;
  readonly dataDir: string | undefined;
  /** Environment variables for a client process: the endpoints, credentials, the names of tables and queues, the clusters. */
  readonly env: Readonly<Record<string, string>>;
  /** Physical names of the tables. */
  readonly tables: TableNames;
  /** The queues by physical name. */
  readonly queues: ReadonlyMap<string, CreatedQueue>;
  readonly meter: Meter;
  /** The functions by name: `PlanApplier`. */
  readonly functions: ReadonlyMap<string, FunctionRunner>;
  readonly eventSources: EventSources;
  /**
   * Deletes the items whose expiry has passed, by the functions' time, as TTL does: marked in the stream as the service's
   * own. Nothing else deletes them. Answers how many there were.
   */
  expire(): Promise<number>;
  /** Settles when the engine cannot go on, with the reason. */
  readonly failed: Promise<Error>;
  /** Ends everything: when the invocations under way are done, or after `graceMs`, processes, servers and temporary files. */
  stop(): Promise<void>;
}

/**
 * Starts the whole system on this machine: DynamoDB, SQS, the functions and what invokes them, as the template says.
 * Every port is a free one and of the loopback address, so that engines do not get into each other's way. If this
 * process ends without `stop`, even by `kill -9`, nothing is left behind but the data directory.
 *
 * @throws Error when the data directory is in use, there is no DynamoDB for this platform, or the template has something
 * that cannot be run here; nothing is left behind then
 */
export async function startEngine(options: EngineOptions = {}): Promise<Engine> {
  const cleanup = new Cleanup();
  try {
    return await start(options, cleanup);
  } catch (error) {
    await cleanup.run();
    throw error;
  }
}

async function start(options: EngineOptions, cleanup: Cleanup): Promise<Engine> {
  const progress = options.onProgress ?? (() => undefined);
  const data = options.dataDir === undefined ? undefined : await openData(options.dataDir, cleanup);
  const log = startLog(options, data, cleanup);
  const foreign = foreignServices(options, progress);

  progress('starting DynamoDB');
  const temporary = mkdtempSync(join(tmpdir(), 'berth-engine-'));
  cleanup.add(() => rmSync(temporary, { recursive: true, force: true }));
  const database = { endpoint: foreign.dynamodb, temporary, file: data?.databaseFile };
  const dynamodb = await startDynamoDb(database, cleanup);
  const meter = new Meter(dynamodb.url);
  cleanup.add(() => meter.close());

  const assembly = options.assembly ?? (await synthesized(temporary, progress));
  const resources = new Resources(readCloudAssembly(assembly), { region: REGION, account: ACCOUNT });
  checkTypes(resources.stacks);

  progress('creating tables and queues');
  const streams = await createTables(resources, dynamodb.url, cleanup);
  const sqs = await startSqs(
    resources,
    {
      endpoint: foreign.sqs,
      journalFile: data?.queuesFile,
      visibilitySeconds: options.visibilitySeconds,
      clock: options.clock ?? systemClock,
    },
    cleanup,
  );

  defineEventBuses(resources);
  defineRoles(resources);

  progress('starting functions');
  const { maxConcurrency = MAX_CONCURRENCY } = options;
  const bus = await startEventBus((event) => {
    log('event-bus', 'stdout', JSON.stringify(event));
    options.onEvent?.(event);
  });
  cleanup.add(() => bus.close());
  const clock = options.functionClock;
  const { outside } = options;
  const running = { temporary, meter, sqs, eventBus: bus.url, outside, clock, maxConcurrency, onOutput: log };
  const functions = await startFunctions(resources, running, cleanup);
  const checkpoints = new CheckpointStore(data?.checkpointsFile);
  const services = { resources, sqs, streams, checkpoints, functions: [...functions.values()] };
  const eventSources = await startEventSources(options, services, log, cleanup);

  const endpoints = { dynamodb: await meter.endpointFor('client'), sqs: sqs.url };
  const env = {
    ...clientEnvironment({ ...endpoints, outside }, REGION),
    [ENGINE_ENV]: engineMark(Object.values(endpoints)),
    ...resources.environmentOutputs(),
  };
  return {
    endpoints,
    foreign,
    region: REGION,
    dataDir: data?.path,
    env,
    get tables() {
      return tableNamesFromEnv(env, Object.keys(TABLES) as TableName[]);
    },
    queues: new Map(sqs.queues.map((queue) => [queue.name, queue])),
    meter,
    functions,
    eventSources,
    expire: () => streams.expire(clock?.now() ?? systemClock()),
    failed: dynamodb.failed,
    stop: () => cleanup.run(),
  };
}

type Log = (source: string, stream: LogLine['stream'], line: string, requestId?: string | undefined) => void;

async function openData(path: string, cleanup: Cleanup): Promise<DataDirectory> {
  const data = await DataDirectory.open(path);
  cleanup.add(() => data.release());
  return data;
}

function foreignServices(options: EngineOptions, progress: (step: string) => void): ForeignEndpoints {
  const named = foreignEndpoints(process.env);
  const dynamodb = options.dynamodbEndpoint ?? named.dynamodb;
  const sqs = options.sqsEndpoint ?? named.sqs;
  if (named.notUsed.length > 0) {
    const [names, are] = [named.notUsed.join(' and '), named.notUsed.length > 1 ? 'are' : 'is'];
    progress(`${names} of berth.env ${are} another engine's: not used`);
  }
  return { dynamodb, sqs };
}

function startLog(options: EngineOptions, data: DataDirectory | undefined, cleanup: Cleanup): Log {
  const file = data && new LogFile(data.logFile);
  cleanup.add(() => file?.close());
  return (source, stream, line, requestId) => {
    const entry: LogLine = { at: systemClock(), source, stream, requestId, line };
    file?.write(entry);
    options.onLog?.(entry);
  };
}

async function synthesized(temporary: string, progress: (step: string) => void): Promise<string> {
  progress('synthesizing the stacks and bundling the functions');
  const directory = join(temporary, 'assembly');
  await synthesize(directory);
  return directory;
}

async function startEventSources(
  options: EngineOptions,
  services: Pick<EventSourceContext, 'resources' | 'sqs' | 'streams' | 'checkpoints' | 'functions'>,
  log: Log,
  cleanup: Cleanup,
): Promise<EventSources> {
  const { paused, graceMs = GRACE_MS, clock = systemClock, functionClock, redeliverEvery = 0, schedules } = options;
  const context: EventSourceContext = {
    ...services,
    clock,
    scheduleClock: () => functionClock?.now() ?? systemClock(),
    redeliverEvery,
    onProblem: (functionName, problem) => log(functionName, 'platform', problem),
  };
  const scalers = services.functions.filter(({ definition }) => definition.environment[CLUSTERS_ENV] !== undefined);
  const findsItsWorld = (name: string) =>
    options.outside !== undefined || scalers.every(({ definition }) => definition.name !== name);
  const eventSources = new EventSources([
    ...(await mappedSources(context)),
    ...scheduledSources(context).filter(({ functionName }) => schedules && findsItsWorld(functionName)),
  ]);
  cleanup.add(() => eventSources.stop(graceMs));
  for (const source of eventSources.all) {
    if (paused !== 'all' && !paused?.includes(source.functionName)) source.resume();
  }
  return eventSources;
}
