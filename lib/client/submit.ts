import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { abortable } from '../aws/requests.ts';
import { checkPlan } from '../plans/check-plan.ts';
import type { Plan, PlanInput } from '../plans/plan.ts';
import type { PlanResult } from '../plans/result.ts';
import { InvalidInputError } from '../schema.ts';
import { PLATFORM } from '../settings.ts';
import type { Connection } from './connection.ts';
import { PlanTimeoutError, type ResultWaiters } from './results.ts';
import { retrying } from './retrying.ts';

export interface SubmitOptions {
  /** How long to wait for the result, milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  /** Ends the waiting; the plan stays on the queue. */
  readonly signal?: AbortSignal;
}

/** How long `submit` waits unless told otherwise, milliseconds. */
export const SUBMIT_TIMEOUT_MS = 60_000;

/**
 * `input` checked, and as the message that it is sent as: as it came, so that it is no longer than its author thought, and
 * the same message from a later version that knows of more defaults. Throws InvalidInputError with everything that is wrong.
 */
export function sendablePlan(input: PlanInput): { readonly plan: Plan; readonly body: string } {
  const checked = checkPlan(input);
  if ('problems' in checked) throw new InvalidInputError('the plan', checked.problems);
  const body = JSON.stringify(input);
  const bytes = Buffer.byteLength(body);
  if (bytes > PLATFORM.messageBytes) {
    const message = `the plan is ${bytes} bytes as JSON, a message holds ${PLATFORM.messageBytes}: split it by node`;
    throw new InvalidInputError('the plan', [{ path: '', message }]);
  }
  return { plan: checked.plan, body };
}

/**
 * Puts a plan onto the queue, and again while the queue throttles or is away. Its id is the deduplication id: a copy that
 * is sent within five minutes is swallowed by the queue, a later one finds the stored result.
 */
export async function pushPlan(connection: Connection, input: PlanInput, signal?: AbortSignal): Promise<Plan> {
  const { sqs, planQueueUrl } = connection;
  const { plan, body } = sendablePlan(input);
  const message = new SendMessageCommand({
    QueueUrl: planQueueUrl,
    MessageBody: body,
    MessageGroupId: plan.pool,
    MessageDeduplicationId: plan.planId,
  });
  await retrying(() => sqs.send(message, abortable(signal)), signal);
  return plan;
}

/** Puts a plan onto the queue and waits for its result, `timeoutMs` for both together. Throws PlanTimeoutError. */
export async function submitPlan(
  connection: Connection,
  waiters: ResultWaiters,
  input: PlanInput,
  { timeoutMs = SUBMIT_TIMEOUT_MS, signal }: SubmitOptions,
): Promise<PlanResult> {
  const { planId } = sendablePlan(input).plan;
  const begin = Date.now();
  const late = AbortSignal.timeout(timeoutMs);
  try {
    await pushPlan(connection, input, signal ? AbortSignal.any([signal, late]) : late);
  } catch (error) {
    signal?.throwIfAborted();
    // Whether the queue took it nobody knows: it is the same as with a result that does not come.
    throw late.aborted ? Object.assign(new PlanTimeoutError(planId, timeoutMs), { cause: error }) : error;
  }
  return waiters.wait(planId, Math.max(0, timeoutMs - (Date.now() - begin)), signal);
}
