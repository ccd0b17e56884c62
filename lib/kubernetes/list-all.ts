import * as z from 'zod/mini';
import { CallError } from '../scaler/call-error.ts';
import { KUBERNETES } from '../settings.ts';
import type { KubernetesApi } from './api.ts';
import { readObject } from './read-object.ts';
import type { Shape } from './shapes.ts';

const PAGE: Shape<{ readonly items: readonly unknown[]; readonly resourceVersion: string; readonly next: string }> = {
  kind: 'a list',
  schema: z.pipe(
    z.object(
      {
        metadata: z.object(
          { resourceVersion: z.string({ error: 'a text' }), continue: z.nullish(z.string({ error: 'a text' })) },
          { error: 'an object' },
        ),
        // Go has null for a list that nothing was put into. One that is missing makes this no list.
        items: z.nullable(z.array(z.unknown(), { error: 'a list' })),
      },
      { error: 'an object' },
    ),
    z.transform(({ metadata, items }) => ({
      items: items ?? [],
      resourceVersion: metadata.resourceVersion,
      next: metadata.continue ?? '',
    })),
  ) as unknown as z.ZodMiniType<never, unknown>,
};

export interface ListOf {
  readonly path: readonly string[];
  /** Selectors. No resourceVersion: without it the answer is what is there now, with 0 whatever a cache has. */
  readonly query?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/**
 * All objects of a list, of one state; otherwise it throws CallError. Each page is cut down to what is looked at before the
 * next is asked for. Undefined: the server knows no such kind.
 */
export async function listAll<T>(api: KubernetesApi, shape: Shape<T>, of: ListOf): Promise<T[] | undefined> {
  for (let restarts = 0; restarts <= KUBERNETES.listRestarts; restarts++) {
    const outcome = await pagesOf(api, shape, of);
    if (outcome !== 'restart') return outcome;
  }
  const message = `the list of ${shape.kind} was of no single state, ${KUBERNETES.listRestarts + 1} times in a row`;
  throw new CallError('refused', '410', message);
}

async function pagesOf<T>(api: KubernetesApi, shape: Shape<T>, of: ListOf): Promise<T[] | 'restart' | undefined> {
  const objects: T[] = [];
  let state: string | undefined;
  let next = '';
  for (let pages = 0; pages < KUBERNETES.pages; pages++) {
    const page = await readPage(api, shape, of, next);
    if (page === 'gone') return pages === 0 ? undefined : 'restart';
    if (page === 'expired') return 'restart';
    // Pages of another state would be missing what has moved between them.
    if (state !== undefined && page.resourceVersion !== state) return 'restart';
    state = page.resourceVersion;
    for (const object of page.objects) objects.push(object);
    if (page.next === '') return objects;
    next = page.next;
  }
  const message = `the list of ${shape.kind} has more than ${KUBERNETES.pages} pages`;
  throw new CallError('refused', 'ETOOLARGE', message);
}

/** One page, cut down: nothing of what came is held while the next is waited for. */
async function readPage<T>(api: KubernetesApi, shape: Shape<T>, { path, query, signal }: ListOf, next: string) {
  try {
    const answer = await api.request({
      method: 'GET',
      path,
      query: { ...query, limit: String(KUBERNETES.pageSize), ...(next === '' ? {} : { continue: next }) },
      ...(signal === undefined ? {} : { signal }),
    });
    const { items, ...page } = readObject(PAGE, answer);
    return { ...page, objects: items.map((item) => readObject(shape, item)) };
  } catch (error) {
    if (error instanceof CallError && error.code === '404') return 'gone';
    // The token of the next page has expired. That which comes with it leads to a later state.
    if (error instanceof CallError && error.code === '410') return 'expired';
    throw error;
  }
}
