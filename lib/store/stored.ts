import * as z from 'zod/mini';
import type { EpochMs, EpochSeconds } from '../time.ts';
import type { Item } from './dynamo.ts';
import { PermanentError } from './errors.ts';

/** Times of items. What was stored was checked when it came in: here it is enough that it can be computed with. */
export const storedMs = z.custom<EpochMs>((value) => Number.isSafeInteger(value));
export const storedSeconds = z.custom<EpochSeconds>((value) => Number.isSafeInteger(value));

/** What `item` holds by `schema`. Throws a `Failure` that names `what`: what asked for a thing that can never be read is parked. */
export function fromItem<S extends z.ZodMiniType>(
  schema: S,
  item: Readonly<Item>,
  what: string,
  Failure: new (message: string) => Error = PermanentError,
): z.output<S> {
  const outcome = schema.safeParse(item);
  if (outcome.success) return outcome.data;
  throw new Failure(`the stored ${what} is not of its shape: ${z.prettifyError(outcome.error)}`);
}
