import * as z from 'zod/mini';
import { BOUNDS } from './settings.ts';

/**
 * Identifiers. One pattern for all: letters, digits and `_ . : / + = , ~ -`, beginning with a letter, a digit or `_`, at
 * most 128 characters (SQS bounds the message group and the deduplication id to that). `#` and `@` are left out since
 * keys are composed with them, `!` since it begins the holders that are no tasks (see `nodes/claims.ts`).
 */
const ID_PATTERN = new RegExp(`^[A-Za-z0-9_][A-Za-z0-9_.:/+=,~-]{0,${BOUNDS.idLength - 1}}$`);
const ID_EXPECTED = `a text of 1 to ${BOUNDS.idLength} characters, letters, digits and _ . : / + = , ~ - only, beginning with a letter, a digit or _`;

function idOf<B extends string>() {
  return z
    .string({ error: ID_EXPECTED })
    .check(z.regex(ID_PATTERN, { error: ID_EXPECTED }))
    .brand<B>();
}

export const poolName = idOf<'PoolName'>();
export const nodeId = idOf<'NodeId'>();
export const taskId = idOf<'TaskId'>();
export const planId = idOf<'PlanId'>();
export const serviceId = idOf<'ServiceId'>();
export const evalId = idOf<'EvalId'>();

export type PoolName = z.infer<typeof poolName>;
export type NodeId = z.infer<typeof nodeId>;
export type TaskId = z.infer<typeof taskId>;
export type PlanId = z.infer<typeof planId>;
export type ServiceId = z.infer<typeof serviceId>;

/** Whether `text` can be used as an id. */
export function isId(text: unknown): text is string {
  return typeof text === 'string' && ID_PATTERN.test(text);
}
