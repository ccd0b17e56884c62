import * as z from 'zod/mini';

/** `content` as `schema` has it, or what of it is not of that shape, each with its path. */
export function shaped<S extends z.ZodMiniType>(
  schema: S,
  content: unknown,
): { readonly data: z.output<S> } | { readonly problems: readonly string[] } {
  const outcome = schema.safeParse(content, { error: z.locales.en().localeError });
  if (outcome.success) return { data: outcome.data };
  return { problems: outcome.error.issues.map(({ path, message }) => `${z.core.toDotPath(path)}: ${message}`) };
}
