import { canonicalJson, sha256 } from '../hash.ts';
import { isId, type PlanId, type PoolName } from '../ids.ts';
import { shown } from '../schema.ts';
import { PLATFORM } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import { checkPlan } from './check-plan.ts';
import type { Delivery } from './delivery.ts';

/** A message of the plan queue. */
export interface PlanMessage {
  readonly body: string;
  readonly group: string;
  readonly sentAt: EpochMs;
}

/** A message that cannot end as a result, since nothing says which plan it is. */
export interface Unusable {
  readonly reason: string;
}

/**
 * What a message holds. It is unusable only if it is no JSON object with a plan id; whatever else is wrong with
 * it ends as an `invalid` result under that id, so that its worker learns of it.
 */
export function readMessage({ body, group, sentAt }: PlanMessage): Delivery | Unusable {
  if (Buffer.byteLength(body) > PLATFORM.messageBytes)
    return { reason: `the message is longer than ${PLATFORM.messageBytes} bytes` };
  let input: unknown;
  try {
    input = JSON.parse(body);
  } catch {
    return { reason: 'the message is not JSON; a plan is one JSON object' };
  }
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return { reason: `the message is ${shown(input)}; a plan is one JSON object` };
  }
  const planId: unknown = Object.hasOwn(input, 'planId') ? (input as { planId: unknown }).planId : undefined;
  if (!isId(planId)) {
    const what = planId === undefined ? 'missing' : shown(planId);
    return { reason: `planId is ${what}; without an id no result could be stored` };
  }

  const content = checkPlan(input, group);
  return {
    planId: planId as PlanId,
    pool: group as PoolName,
    content,
    // What is no plan may be nested deeper than the stack is, so it is told from others by its text.
    fingerprint: sha256('plan' in content ? canonicalJson(input) : body).toString('base64url'),
    receivedAt: sentAt,
  };
}
