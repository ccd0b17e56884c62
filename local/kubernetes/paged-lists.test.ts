import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import type { ApiError } from './api-error.ts';
import { ObjectStore } from './object-store.ts';
import { type Page, PagedLists, TOKEN_LIFE_MS } from './paged-lists.ts';

function world(names: Iterable<string>) {
  let now = 0 as EpochMs;
  const store = new ObjectStore({ clock: () => now, seed: 'test' });
  const put = (name: string) => store.create('nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  for (const name of names) put(name);
  const lists = new PagedLists(store, () => now);
  const page = (limit: number, continueToken?: string, matches: (name: string) => boolean = () => true): Page =>
    lists.page({ resource: 'nodes', limit, continueToken, matches: ({ metadata }) => matches(metadata.name) });
  return { store, put, lists, page, pass: (ms: number) => (now = (now + ms) as EpochMs) };
}

const namesOf = ({ items }: Page) => items.map(({ metadata }) => metadata.name);

const letters = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { maxLength: 20 });

test('pages are all of the state that the first was of, whatever is written in between', () => {
  fc.assert(
    fc.property(letters, fc.integer({ min: 1, max: 5 }), letters, (names, limit, later) => {
      const { store, put, page } = world(names);
      const wanted = (name: string) => !name.startsWith('a');
      const seen: string[] = [];
      const versions = new Set<string>();
      const changes = later.values();
      let token: string | undefined;
      do {
        const part = page(limit, token, wanted);
        seen.push(...namesOf(part));
        versions.add(part.resourceVersion);
        expect(part.items.length).toBeLessThanOrEqual(limit);
        token = part.continueToken;
        const { value: name } = changes.next();
        if (name !== undefined && store.get('nodes', name)) store.delete('nodes', name);
        else if (name !== undefined) put(name);
      } while (token !== undefined);
      expect(seen).toEqual(names.filter(wanted).sort());
      expect(versions.size).toBe(1);
    }),
  );
});

test('a page says how many are to come', () => {
  const { page } = world('abcde');
  const first = page(2);
  expect(first.remaining).toBe(3);
  expect(page(3, first.continueToken)).not.toHaveProperty('continueToken');
});

test('a token that is too old is 410, with one that goes on from what is there now', () => {
  const { page, pass, put } = world('aceg');
  const token = page(2).continueToken;
  pass(TOKEN_LIFE_MS - 1);
  expect(namesOf(page(2, token))).toEqual(['e', 'g']);
  pass(1);
  put('d');
  let error: unknown;
  try {
    page(2, token);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toMatchObject({ status: 410, reason: 'Expired' });
  expect(namesOf(page(9, (error as ApiError).continueToken))).toEqual(['d', 'e', 'g']);
});

test('compaction ends lists that have begun; a token that is none is a bad request', () => {
  const { page, lists } = world('abc');
  const token = page(1).continueToken;
  lists.expire();
  expect(() => page(1, token)).toThrow(expect.objectContaining({ status: 410 }));
  expect(() => page(1, 'no token')).toThrow(expect.objectContaining({ status: 400 }));
});
