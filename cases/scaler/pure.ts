import { cronTimes } from '../../lib/cron/croner.ts';
import { runTick, type TickObject } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { callDifferences } from './calls.ts';
import type { ScalerCase, ScalerTick } from './case.ts';
import { happen } from './events.ts';
import type { TickView } from './expectation.ts';
import { faultsOf, Killed } from './faults.ts';
import { ScalerLog } from './log.ts';
import { at, OBJECT, objectsOf, worldOf } from './scene.ts';
import { errorsOf, type ScalerEvent, type ScalerStage, stepDifferences } from './steps.ts';
import type { ScalerWorld } from './world.ts';

/** Longer than any tick takes: the clock of a case stands still during one. */
const DEADLINE_MS = 60_000;

/** What the files have where a certificate belongs. It is never looked at: nobody is called. */
const CA_BUNDLE = Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64');

/** What does not hold of a case of the scaler, run through the pure code over a world in memory. */
export async function scalerDifferences(scalerCase: ScalerCase): Promise<string[]> {
  if (scalerCase.callLevel) return callDifferences(scalerCase);
  return stepDifferences(scalerCase, new PureStage(scalerCase));
}

class PureStage implements ScalerStage {
  readonly #case: ScalerCase;
  readonly #world: ScalerWorld;
  #spec: ScalerCase['spec'];

  constructor(scalerCase: ScalerCase) {
    this.#case = scalerCase;
    this.#world = worldOf(scalerCase);
    this.#spec = scalerCase.spec;
  }

  happen(event: ScalerEvent): void {
    this.#spec = happen(event, this.#world, this.#spec);
  }

  async tick({ inject = [] }: ScalerTick, now: EpochMs): Promise<TickView> {
    const world = this.#world;
    world.log = new ScalerLog();
    world.problems = [];
    world.intercept = faultsOf(world, inject);
    try {
      const outcomes = await runTick(this.#objects(), {
        cluster: world.cluster,
        portsOf: () => ({ ledger: world.ledgerStore, provider: () => world.provider }),
        times: cronTimes,
        clock: () => now,
        deadline: (now + DEADLINE_MS) as EpochMs,
      });
      const outcome = outcomes.find(({ name }) => name === OBJECT);
      if (outcome === undefined) throw new Error('the tick told nothing of the object');
      const { problems, report, status } = outcome;
      const reasons = status.conditions.map(({ reason }) => reason);
      return { log: world.log, errors: errorsOf({ problems, errors: report.errors, reasons }), status };
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      return { log: world.log, errors: ['Crash'] };
    }
  }

  #objects(): TickObject[] {
    const hook = this.#spec.grpcHook as object | undefined;
    const spec = { ...this.#spec, ...(hook && { grpcHook: { ...hook, caBundle: CA_BUNDLE } }) };
    return objectsOf(this.#case, spec).map(({ name, createdAt, spec: own }) => ({
      name,
      createdAt: at(createdAt),
      spec: own,
    }));
  }
}
