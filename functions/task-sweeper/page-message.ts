import { problemsOf } from '../../lib/schema.ts';
import { PLATFORM, SWEEPER } from '../../lib/settings.ts';
import { type SweepPage, sweepPageSchema } from '../../lib/tasks/sweep.ts';

/** The page that a message holds, or why it holds none. */
export function readPage(body: string): { readonly page: SweepPage } | { readonly reason: string } {
  if (Buffer.byteLength(body) > PLATFORM.messageBytes) return { reason: 'the message is longer than 1 MiB' };
  let input: unknown;
  try {
    input = JSON.parse(body);
  } catch (error) {
    return { reason: `not JSON: ${(error as Error).message}` };
  }
  const outcome = sweepPageSchema.safeParse(input);
  if (outcome.success) return { page: outcome.data };
  const problems = problemsOf(outcome.error, input).map(({ path, message }) => `${path}: ${message}`);
  return { reason: `no page of a sweep: ${problems.join('; ')}` };
}

/** Tasks of a page that is received for the n-th time: one that has failed is tried smaller, in case it was too much for the time. */
export function pageTasksOf(receives: number): number {
  return Math.max(10, Math.floor(SWEEPER.pageTasks / 2 ** Math.max(0, receives - 1)));
}
