import { setImmediate as nextTurn } from 'node:timers/promises';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Connection } from '../../lib/client/connection.ts';
import type { PoolStatus } from '../../lib/scaler/tell/status.ts';
import { marshall } from '../../lib/store/dynamo.ts';
import { scalerKey } from '../../lib/store/keys.ts';
import { ledgerItem } from '../../lib/store/ledger-item.ts';
import { type EpochMs, isoTime } from '../../lib/time.ts';
import type { Engine } from '../../local/engine.ts';
import type { MovableClock } from '../../local/functions/movable-clock.ts';
import { CREDENTIALS } from '../../local/local-environment.ts';
import type { LogLine } from '../../local/log.ts';
import { callDifferences } from './calls.ts';
import type { ScalerCase, ScalerTick } from './case.ts';
import type { TickView } from './expectation.ts';
import { type Forwarder, startForwarder } from './forwarder.ts';
import { type CaseHook, startCaseHook } from './hook.ts';
import { ScalerLog } from './log.ts';
import { OutsideWorld } from './outside.ts';
import { happenOutside } from './outside-events.ts';
import { injectFault } from './outside-faults.ts';
import { caseUidOf, ledgerOf, OBJECT, objectsOf } from './scene.ts';
import { errorsOf, type ScalerEvent, type ScalerStage, stepDifferences, type ToldErrors } from './steps.ts';

const SCALER = 'NodeScaler';
/** The one cluster that the template of the local engine has. */
const CLUSTER = 'us-east-1/local';
const MINUTE_MS = 60_000;
/** How long what a tick has printed may take to get here. It takes no time to speak of. */
const TOLD_MS = 10_000;

/** The engine that a case is run on, with all else that it needs of it. */
export interface ScalerEngine {
  readonly engine: Engine;
  readonly connection: Connection;
  /** The time of the functions. */
  readonly clock: MovableClock;
}

/** The outside of a deployed node scaler: another one for each case, at addresses that stay. */
export class ChangingOutside {
  /** For the engine. */
  readonly endpoints: { readonly eks: string; readonly autoScaling: string };
  readonly #eks: Forwarder;
  readonly #autoScaling: Forwarder;
  readonly #hook: CaseHook;
  /** What the function has printed since it was asked for last. */
  #lines: string[] = [];

  private constructor(eks: Forwarder, autoScaling: Forwarder, hook: CaseHook) {
    this.#eks = eks;
    this.#autoScaling = autoScaling;
    this.#hook = hook;
    this.endpoints = { eks: eks.url, autoScaling: autoScaling.url };
  }

  static async start(): Promise<ChangingOutside> {
    const [eks, autoScaling] = await Promise.all([startForwarder(), startForwarder()]);
    return new ChangingOutside(eks, autoScaling, await startCaseHook());
  }

  async stop(): Promise<void> {
    this.#hook.close();
    await Promise.all([this.#eks.close(), this.#autoScaling.close()]);
  }

  /** For the engine, so that what the function tells is heard. */
  readonly onLog = ({ source, stream, line }: LogLine): void => {
    if (source === SCALER && stream !== 'platform') this.#lines.push(line);
  };

  /** What does not hold of a case, run through the function as it is deployed. */
  async differences(scalerCase: ScalerCase, on: ScalerEngine): Promise<string[]> {
    if (scalerCase.callLevel) return callDifferences(scalerCase);
    const secretOf = (id: string) => (id === CREDENTIALS.accessKeyId ? CREDENTIALS.secretAccessKey : undefined);
    const world = await OutsideWorld.start(scalerCase, () => on.clock.now(), secretOf);
    this.#eks.target = world.outside.endpoints.eks;
    this.#autoScaling.target = world.outside.endpoints.autoScaling;
    const hook = scalerCase.spec.provider === 'custom' ? this.#hook : undefined;
    try {
      await writeLedger(scalerCase, world, on);
      const takeLines = () => this.#lines.splice(0);
      const problems = await stepDifferences(
        scalerCase,
        new EngineStage(scalerCase, { ...on, world, hook, grpcHook: this.#hook.spec, takeLines }),
      );
      return [...problems, ...world.outside.violations];
    } finally {
      on.clock.set(undefined);
      hook?.clear();
      await world.close();
    }
  }
}

/** Puts what is remembered at first, and no lease, in place of what the case before has left. */
async function writeLedger({ cluster }: ScalerCase, world: OutsideWorld, on: ScalerEngine): Promise<void> {
  const uids = new Map((cluster.nodes ?? []).map((node) => [caseUidOf(node), world.node(node.name)?.metadata.uid]));
  const ledger = ledgerOf(cluster, (uid) => uids.get(uid) ?? uid);
  const Item = marshall({ pool: scalerKey(CLUSTER), ledgers: { [OBJECT]: ledgerItem(ledger) } });
  await on.connection.dynamo.send(new PutItemCommand({ TableName: on.engine.tables.scaler, Item }));
}

interface StageSettings extends ScalerEngine {
  readonly world: OutsideWorld;
  /** Undefined: the case is of another provider than custom. */
  readonly hook: CaseHook | undefined;
  /** What stands in an object in place of the hook of the files. */
  readonly grpcHook: CaseHook['spec'];
  /** What the function has printed since the last time. */
  takeLines(): string[];
}

class EngineStage implements ScalerStage {
  readonly #case: ScalerCase;
  readonly #settings: StageSettings;
  #spec: ScalerCase['spec'];
  /** How much later than the case has it ticks are run, milliseconds: a lease that nobody gave back costs one. */
  #late = 0;
  #killed = false;

  constructor(scalerCase: ScalerCase, settings: StageSettings) {
    this.#case = scalerCase;
    this.#settings = settings;
    this.#spec = scalerCase.spec;
    this.#putObjects();
  }

  happen(event: ScalerEvent): void {
    this.#spec = happenOutside(event, this.#settings.world, this.#spec);
    if (event.event === 'specChanged') this.#putObjects();
  }

  async tick(tick: ScalerTick, at: EpochMs): Promise<TickView> {
    const { world, hook } = this.#settings;
    const { faults } = world.outside;
    world.log = new ScalerLog();
    if (hook) hook.log = world.log;
    const wasKilled = this.#killed;
    this.#killed = false;
    for (const one of tick.inject ?? []) injectFault(one, { world, hook, kill: () => this.#kill() });
    try {
      let outcome = await this.#invoke(at);
      if (outcome === 'held' && wasKilled) {
        // Whoever was killed has the cluster for longer than a minute. The tick after is the one that goes on.
        world.log.must(isIdle(world.log), 'something was done while another run had the cluster');
        this.#late += MINUTE_MS;
        outcome = await this.#invoke(at);
      }
      return await this.#viewOf(outcome);
    } finally {
      faults.clear();
      hook?.clear();
      if ((tick.inject ?? []).some(({ op }) => op === 'recheck')) world.remove('pods', 'last-moment');
    }
  }

  async #kill(): Promise<void> {
    this.#killed = true;
    await this.#settings.engine.functions.get(SCALER)?.killAll();
  }

  /** Runs the tick that is due; what came of the cluster, or `killed`. */
  async #invoke(at: EpochMs): Promise<string> {
    const { clock, engine, takeLines } = this.#settings;
    const now = (at + this.#late) as EpochMs;
    clock.set(now);
    takeLines();
    const event = { apiVersion: 'berth/v1', kind: 'ScalerTick', scheduledTime: isoTime(now) };
    const result = await engine.functions.get(SCALER)?.invoke(event);
    if (this.#killed) return 'killed';
    if (result?.status !== 'returned') throw new Error(`the function failed: ${JSON.stringify(result)}`);
    const { clusters } = JSON.parse(result.payload) as { clusters: readonly { outcome: string }[] };
    return clusters[0]?.outcome ?? 'none';
  }

  async #viewOf(outcome: string): Promise<TickView> {
    const { world } = this.#settings;
    const { log } = world;
    if (outcome === 'killed') return { log, errors: ['Crash'] };
    const status = (world.status() ?? { conditions: [] }) as unknown as PoolStatus;
    // The same tick once more: that nothing is done is what is expected of it.
    if (outcome === 'past') return { log, errors: [], status };
    if (outcome !== 'done' && outcome !== 'unobserved') throw new Error(`the tick came to: ${outcome}`);
    const told = await this.#told(status);
    // Its status is of an object that the API server itself takes from nobody: it takes that no more.
    if (told.some(isRefusedStatus))
      return {
        log,
        errors: this.#errors(
          told.filter((line) => !isRefusedStatus(line)),
          NONE,
        ),
      };
    return { log, errors: this.#errors(told, status), status };
  }

  #errors(told: readonly ToldLine[], { conditions }: PoolStatus): string[] {
    return told.flatMap(({ object, error, problems = [], errors = [] }) => {
      if (error !== undefined) return [error.code];
      const isUnknown = problems.length === 1 && problems[0]?.path === 'spec.provider';
      const reasons = isUnknown ? ['UnknownProvider'] : conditions.map(({ reason }) => reason);
      return object === undefined || object === OBJECT ? errorsOf({ problems, errors, reasons }) : [];
    });
  }

  /** What the tick has printed, all of it: errors come by another stream than metrics, which tell how many there are. */
  async #told({ conditions }: PoolStatus): Promise<ToldLine[]> {
    const isInvalid = conditions.some(({ type, status }) => type === 'Valid' && status === 'False');
    const lines: ToldLine[] = [];
    const until = performance.now() + TOLD_MS;
    for (;;) {
      lines.push(...this.#settings.takeLines().map((line) => JSON.parse(line) as ToldLine));
      const counted = lines.reduce((sum, line) => sum + (line['scaler.errors'] ?? 0), 0);
      const told = lines.reduce((sum, { error, errors = [] }) => sum + (error ? 1 : errors.length), 0);
      const explained = !isInvalid || lines.some(({ object, problems }) => object === OBJECT && problems !== undefined);
      if (lines.some((line) => 'scaler.tick_seconds' in line) && told >= counted && explained) return lines;
      if (performance.now() > until) throw new Error(`the function has not told all: ${JSON.stringify(lines)}`);
      await nextTurn();
    }
  }

  #putObjects(): void {
    const { world, grpcHook } = this.#settings;
    const { config, ...rest } = this.#spec as ScalerCase['spec'] & { readonly config?: Record<string, string> };
    const spec = {
      ...rest,
      // The files call the cluster by a name of their own.
      ...(config && { config: { ...config, ...(config.cluster === undefined ? {} : { cluster: 'local' }) } }),
      ...(rest.grpcHook ? { grpcHook: { ...rest.grpcHook, ...grpcHook } } : {}),
    };
    for (const one of objectsOf(this.#case, spec)) world.putObject(one);
  }
}

/** A line of the function's log, or a metric of it, as far as it is looked at. */
interface ToldLine extends Partial<Omit<ToldErrors, 'reasons'>> {
  readonly object?: string;
  readonly 'scaler.errors'?: number;
  /** Of a cluster that was not seen. */
  readonly error?: { readonly code: string };
}

const NONE: PoolStatus = { conditions: [] };

function isRefusedStatus({ errors = [] }: ToldLine): boolean {
  return errors.some(({ operation, code }) => operation === 'status' && code === '422');
}

function isIdle(log: ScalerLog): boolean {
  const { uncordoned, cordoned, gameServersDeleted, nodesDeleted, instancesDeleted, increaseBy } = log;
  return [uncordoned, cordoned, gameServersDeleted, nodesDeleted, instancesDeleted].flat().length + increaseBy === 0;
}
