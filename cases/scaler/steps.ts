import type { EpochMs } from '../../lib/time.ts';
import type { ScalerCase, ScalerExpectation, ScalerStep, ScalerTick } from './case.ts';
import { type TickView, tickDifferences, totalDifferences } from './expectation.ts';
import { at } from './scene.ts';

const MINUTE_MS = 60_000;
const BEGINNING = '2026-01-15T12:00:00Z';

export type ScalerEvent = Extract<ScalerStep, { event: string }>;

/** A world that a case is played in, and the scaler that runs in it. */
export interface ScalerStage {
  happen(event: ScalerEvent): void;
  /** Runs the tick that is due at `now`. */
  tick(tick: ScalerTick, now: EpochMs): Promise<TickView>;
}

/** Plays the steps of a case; what does not hold of it. */
export async function stepDifferences(scalerCase: ScalerCase, stage: ScalerStage): Promise<string[]> {
  const { steps, targetOnly = false } = scalerCase;
  const problems: string[] = [];
  const views: TickView[] = [];
  for (const step of steps) {
    if (!('tick' in step)) {
      stage.happen(step as ScalerEvent);
      continue;
    }
    const tick = step as ScalerTick;
    const view = await stage.tick(tick, timeOf(tick));
    views.push(view);
    const expected: ScalerExpectation = tick.expect ?? {};
    const only = targetOnly ? { errors: expected.errors, status: expected.status } : expected;
    problems.push(...tickDifferences(only, view).map((problem) => `tick ${tick.tick}: ${problem}`));
  }
  if (!targetOnly) problems.push(...totalDifferences(scalerCase.expect, views));
  return problems;
}

/** When a tick is due: where the case does not say, a minute after the one before. */
function timeOf({ tick, at: text }: ScalerTick): EpochMs {
  return text === undefined ? ((at(BEGINNING) + tick * MINUTE_MS) as EpochMs) : at(text);
}

/** What a tick says of its pool, in the words of the product. */
export interface ToldErrors {
  readonly problems: readonly { readonly path: string; readonly message: string }[];
  readonly errors: readonly { readonly operation: string; readonly subject: string; readonly code: string }[];
  /** Reasons of the conditions of the status. */
  readonly reasons: readonly string[];
}

/** Reasons that the files tell by the condition alone. */
const TOLD_BY_CONDITION = ['ConflictingGameServerNode', 'UnknownProvider', 'ProviderUnreachable'];

/** Errors in the words of the files. */
export function errorsOf({ problems, errors, reasons }: ToldErrors): string[] {
  const ofProvider = reasons.includes('InvalidConfig');
  const invalid = problems.map((problem) => (ofProvider ? ofConfig(problem) : ofSpec(problem)));
  return [...(reasons.some((reason) => TOLD_BY_CONDITION.includes(reason)) ? [] : invalid), ...errors.map(errorText)];
}

function ofSpec({ path }: ToldErrors['problems'][number]): string {
  return `${path}: FieldValueInvalid`;
}

/** What a provider says of a config: of what it looks for and does not find, or in the words of a hook. */
function ofConfig(problem: ToldErrors['problems'][number]): string {
  const { path, message } = problem;
  const kind =
    /^FieldValue\w+/.exec(message)?.[0] ?? (/\b(has|is) no\b/.test(message) ? 'FieldValueNotFound' : undefined);
  return kind === undefined ? ofSpec(problem) : `${path.replace(/^spec\./, '')}: ${kind}`;
}

function errorText({ operation, subject, code }: ToldErrors['errors'][number]): string {
  if (code === '409' && operation === 'deleteGameServer') return `Conflict:${subject}`;
  if (NO_ANSWER.test(code)) return 'Timeout';
  return code === '429' ? 'TooManyRequests' : code;
}

/** What a client calls it that no answer came. */
const NO_ANSWER = /^(ECONNRESET|ETIMEDOUT|EPIPE|TimeoutError)$/;
