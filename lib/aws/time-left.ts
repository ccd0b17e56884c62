import type { Context } from 'aws-lambda';
import { type EpochMs, systemClock } from '../time.ts';

/** What an invocation keeps to. */
export interface TimeLeft {
  /** Gives up what is under way, so that the answer still gets out. */
  readonly signal: AbortSignal;
  /** Nothing is begun after this. */
  readonly deadline: EpochMs;
}

/** The time that an invocation has: `abortMs` and `reserveMs` are milliseconds before Lambda ends it. */
export function timeLeft(
  context: Pick<Context, 'getRemainingTimeInMillis'>,
  { abortMs, reserveMs }: { readonly abortMs: number; readonly reserveMs: number },
): TimeLeft {
  const remaining = context.getRemainingTimeInMillis();
  return {
    signal: AbortSignal.timeout(Math.max(1, remaining - abortMs)),
    deadline: (systemClock() + remaining - reserveMs) as EpochMs,
  };
}
