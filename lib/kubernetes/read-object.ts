import { CallError } from '../scaler/call-error.ts';
import { clip, problemsOf } from '../schema.ts';
import { KUBERNETES } from '../settings.ts';
import type { Shape } from './shapes.ts';

/** `object` as its kind has it; otherwise a CallError that names the object, the field, and what was expected there. */
export function readObject<T>({ kind, schema }: Shape<T>, object: unknown): T {
  const outcome = schema.safeParse(object);
  if (outcome.success) return outcome.data;
  const problems = problemsOf(outcome.error, object).map(({ path, message }) => `${path || 'the whole'}: ${message}`);
  const message = `${kind} ${nameOf(object)} cannot be read: ${problems.join('; ')}`;
  throw new CallError('refused', 'EUNREADABLE', clip(message, KUBERNETES.messageLength));
}

function nameOf(object: unknown): string {
  const { name, namespace } = (object as { metadata?: { name?: unknown; namespace?: unknown } } | null)?.metadata ?? {};
  const parts = [namespace, name].filter((part) => typeof part === 'string');
  return parts.length === 0 ? 'without a name' : `"${clip(parts.join('/'), 200)}"`;
}
