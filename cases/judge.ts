import type { EpochMs } from '../lib/time.ts';
import type { AnyCase } from './case-file.ts';
import { differences } from './expectation.ts';
import type { Way } from './outcome.ts';
import { planCaseOf, renamedCase } from './plan-case.ts';

/** Whether a case holds, run one way. */
export interface Verdict {
  readonly id: string;
  readonly way: string;
  /** Why it does not; empty if it does. */
  readonly problems: readonly string[];
}

/**
 * Runs `one` each way. `at` tells it from every other case that was run on the same tables. Whatever goes wrong is a
 * verdict: a case that cannot be run does not hold.
 */
export async function* judged(one: AnyCase, at: number, ways: readonly Way[], now: EpochMs): AsyncGenerator<Verdict> {
  const planCase = one.kind === 'plan' ? planCaseOf(one.content) : undefined;
  for (const way of ways) yield { id: one.id, way: way.name, problems: await problemsOf(one, planCase, at, way, now) };
}

async function problemsOf(
  { kind, content }: AnyCase,
  planCase: ReturnType<typeof planCaseOf> | undefined,
  at: number,
  way: Way,
  now: EpochMs,
): Promise<readonly string[]> {
  if (kind === 'window') return tried(() => way.window(content));
  if (planCase === undefined) return [`not covered yet: ${kind === undefined ? NO_KIND : `cases of kind ${kind}`}`];
  if ('problems' in planCase) return planCase.problems.map((problem) => `not a case of kind plan: ${problem}`);
  const prefix = `case-${at}.`;
  return tried(async () => {
    const renamed = renamedCase(planCase, prefix);
    const outcome = await way.run(renamed, now);
    return differences(renamed, outcome).map((problem) => problem.replaceAll(prefix, ''));
  });
}

async function tried(run: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await run();
  } catch (error) {
    return [`it could not be run: ${error instanceof Error ? error.message : String(error)}`];
  }
}

const NO_KIND = 'cases that name no kind (those of the task reaper and of the node scaler)';
