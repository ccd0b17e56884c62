import { cronTimes } from '../lib/cron/croner.ts';
import type { TickError } from '../lib/scaler/report.ts';
import type { PoolStatus } from '../lib/scaler/status.ts';
import { type ObjectOutcome, runTick, type TickObject } from '../lib/scaler/tick.ts';
import type { EpochMs } from '../lib/time.ts';
import type { ScalerCase, ScalerExpectation, ScalerTick } from './scaler-case.ts';
import { happen } from './scaler-events.ts';
import { type TickView, tickDifferences, totalDifferences } from './scaler-expectation.ts';
import { faultsOf, Killed } from './scaler-faults.ts';
import { ScalerLog } from './scaler-log.ts';
import { at, OBJECT, worldOf } from './scaler-scene.ts';
import type { ScalerWorld } from './scaler-world.ts';

const MINUTE_MS = 60_000;
const BEGINNING = '2026-01-15T12:00:00Z';

/** What does not hold of a case of the scaler, run through the pure code over a world in memory. */
export async function scalerDifferences(scalerCase: ScalerCase): Promise<string[]> {
  if (scalerCase.callLevel) return ['not covered yet: the calls of one provider'];
  const world = worldOf(scalerCase);
  const problems: string[] = [];
  const views: TickView[] = [];
  let spec = scalerCase.spec;
  for (const step of scalerCase.steps) {
    if (!('tick' in step)) {
      spec = happen(step as Parameters<typeof happen>[0], world, spec);
      continue;
    }
    const tick = step as ScalerTick;
    const view = await tickOnce(scalerCase, spec, world, tick);
    views.push(view);
    const expected: ScalerExpectation = tick.expect ?? {};
    const only = scalerCase.targetOnly ? { errors: expected.errors, status: expected.status } : expected;
    problems.push(...tickDifferences(only, view).map((problem) => `tick ${tick.tick}: ${problem}`));
  }
  if (!scalerCase.targetOnly) problems.push(...totalDifferences(scalerCase.expect, views));
  return problems;
}

async function tickOnce(
  scalerCase: ScalerCase,
  spec: ScalerCase['spec'],
  world: ScalerWorld,
  { tick, at: text, inject = [] }: ScalerTick,
): Promise<TickView> {
  const now = text === undefined ? ((at(BEGINNING) + tick * MINUTE_MS) as EpochMs) : at(text);
  world.log = new ScalerLog();
  world.problems = [];
  world.intercept = faultsOf(world, inject);
  try {
    const outcomes = await runTick(objectsOf(scalerCase, spec), {
      cluster: world.cluster,
      portsOf: () => ({ ledger: world.ledgerStore, provider: () => world.provider }),
      times: cronTimes,
      clock: () => now,
      deadline: (now + MINUTE_MS) as EpochMs,
    });
    const outcome = outcomes.find(({ name }) => name === OBJECT);
    if (outcome === undefined) throw new Error('the tick told nothing of the object');
    return { log: world.log, errors: errorsOf(outcome), status: outcome.status };
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    return { log: world.log, errors: ['Crash'] };
  }
}

function objectsOf({ cluster }: ScalerCase, spec: ScalerCase['spec']): TickObject[] {
  const { createdAt, ...rest } = spec as ScalerCase['spec'] & { createdAt?: string };
  const read = withCertificate(rest);
  const others = (cluster.otherGameServerNodes ?? []).map(({ name, createdAt: made, selectsSamePool }) => ({
    name,
    createdAt: at(made),
    // The file says nothing of what it wants; what it does is not what the case is about.
    spec: { ...read, paused: true, ...(selectsSamePool ? {} : { config: { nodegroup: name } }) },
  }));
  return [{ name: OBJECT, createdAt: at(createdAt), spec: read }, ...others];
}

/** The files have a word where a certificate belongs. */
function withCertificate(spec: Record<string, unknown>): Record<string, unknown> {
  const hook = spec.grpcHook as { caBundle?: string } | undefined;
  if (hook?.caBundle !== 'BASE64PEM') return spec;
  const caBundle = Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64');
  return { ...spec, grpcHook: { ...hook, caBundle } };
}

/** Errors in the words of the files. */
function errorsOf({ problems, report, status }: ObjectOutcome): string[] {
  const invalid = problems.map(({ path, message }) => {
    // What the provider says of a config is told as it is; of a spec, by the kind of error that Kubernetes has for it.
    return path.startsWith('spec.') ? `${path}: FieldValueInvalid` : `${path}: ${message}`;
  });
  return [...(isConflict(status) ? [] : invalid), ...report.errors.map(errorText)];
}

function isConflict({ conditions }: PoolStatus): boolean {
  return conditions.some(({ reason }) =>
    ['ConflictingGameServerNode', 'UnknownProvider', 'ProviderUnreachable'].includes(reason),
  );
}

function errorText({ operation, subject, code }: TickError): string {
  if (code === '409' && operation === 'deleteGameServer') return `Conflict:${subject}`;
  return code === '429' ? 'TooManyRequests' : code;
}
