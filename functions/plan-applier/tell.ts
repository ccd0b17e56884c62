import type { Logger } from '@aws-lambda-powertools/logger';
import { type CommittedGroup, OutOfTimeError } from '../../lib/plans/apply.ts';
import type { Decided } from '../../lib/plans/fold.ts';
import type { PlanRecord } from './records.ts';

/** One line that answers why a plan came out as it did. Plans that were simply applied are told at debug. */
export function tell(logger: Logger, { delivery, result, stored, differs }: Decided): void {
  const { planId, pool, status, index } = result;
  const about = { planId, pool, ...(result.evalId === undefined ? {} : { evalId: result.evalId }) };
  if (differs) {
    logger.warn('plan id used again with another content; the first result stands', { ...about, status });
  }
  if (stored) {
    logger.debug('plan delivered again; its result stands', { ...about, status });
    return;
  }
  for (const { nodeId, code, message } of result.rejectedNodes) {
    logger.info('plan for node rejected', { ...about, nodeId, code, reason: message });
  }
  if (status === 'invalid') logger.warn('plan invalid', { ...about, problems: result.problems });
  else if (status === 'expired') logger.info('plan expired', { ...about, receivedAt: delivery.receivedAt });
  else logger.debug('plan decided', { ...about, status, index, committed: result.committed });
}

/** Nodes that were made ineligible, and nodes that were not since the pool had no mark left. */
export function tellMarks(logger: Logger, { pool, marked, withheld }: CommittedGroup): void {
  for (const { nodeId, score } of marked) {
    logger.warn('node made ineligible: its plans were refused again and again', { pool, nodeId, refusals: score });
  }
  for (const { nodeId, score } of withheld) {
    logger.warn('node would be made ineligible: withheld by rate limit', { pool, nodeId, refusals: score });
  }
}

/** Why records go back to the queue. */
export function tellFailure(logger: Logger, error: Error, records: readonly PlanRecord[]): void {
  const about = { pool: records[0]?.group, messages: records.length };
  if (error instanceof OutOfTimeError && error.progressed) {
    logger.info('plans left for the next invocation', about);
    return;
  }
  logger.error('plans returned to the queue', { ...about, error });
}
