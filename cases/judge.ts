import type { EpochMs } from '../lib/time.ts';
import type { AnyCase } from './case-file.ts';
import { differences } from './expectation.ts';
import type { Way } from './outcome.ts';
import { planCaseOf, renamedCase } from './plan-case.ts';
import { isReaperCase, reaperCaseOf } from './reaper/case.ts';
import { reaperDifferences } from './reaper/expectation.ts';
import { isScalerCase, scalerCaseOf } from './scaler/case.ts';

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
  const judge = JUDGES[kindOf(one)];
  for (const way of ways) {
    const problems = await tried(() => judge(one, { prefix: `case-${at}.`, way, now }));
    yield { id: one.id, way: way.name, problems };
  }
}

/** Whether there is anything in the local engine that runs `one`. */
export function isCovered(one: AnyCase): boolean {
  return kindOf(one) !== 'other';
}

type Kind = 'plan' | 'window' | 'reaper' | 'scaler' | 'other';

/** What a case is of. Those of the reaper and of the scaler name no kind. */
function kindOf({ kind, content }: AnyCase): Kind {
  if (kind === 'plan' || kind === 'window') return kind;
  if (kind !== undefined) return 'other';
  return isReaperCase(content) ? 'reaper' : isScalerCase(content) ? 'scaler' : 'other';
}

interface Run {
  /** What the names of the case begin with, to tell it from every other on the same tables. */
  readonly prefix: string;
  readonly way: Way;
  readonly now: EpochMs;
}

/** What does not hold of a case of each kind. */
const JUDGES: { readonly [kind in Kind]: (one: AnyCase, run: Run) => Promise<readonly string[]> } = {
  async plan({ content }, { prefix, way, now }) {
    const planCase = planCaseOf(content);
    if ('problems' in planCase) return planCase.problems.map((problem) => `not a case of kind plan: ${problem}`);
    const renamed = renamedCase(planCase, prefix);
    return told(differences(renamed, await way.run(renamed, now)), prefix);
  },

  window: ({ content }, { way }) => way.window(content),

  async reaper({ content }, { prefix, way, now }) {
    const reaperCase = reaperCaseOf(content, prefix);
    if ('problems' in reaperCase) return reaperCase.problems.map((problem) => `not a case of the reaper: ${problem}`);
    return told(reaperDifferences(reaperCase, await way.reaper(reaperCase, now)), prefix);
  },

  async scaler({ content }, { way }) {
    const read = scalerCaseOf(content);
    if ('problems' in read) return read.problems.map((problem) => `not a case of the scaler: ${problem}`);
    return way.scaler(read.data);
  },

  other: async ({ kind }) => [
    `not covered yet: ${kind === undefined ? 'cases that name no kind, and are none of the reaper or of the node scaler' : `cases of kind ${kind}`}`,
  ],
};

/** Problems under the names that the file has. */
function told(problems: readonly string[], prefix: string): string[] {
  return problems.map((problem) => problem.replaceAll(prefix, ''));
}

async function tried(run: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await run();
  } catch (error) {
    return [`it could not be run: ${error instanceof Error ? error.message : String(error)}`];
  }
}
