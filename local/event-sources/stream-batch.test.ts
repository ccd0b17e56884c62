import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gather } from './payload.ts';
import { afterFailure, type Part } from './stream-batch.ts';

const part = (records: string, retries = 0): Part<string> => ({ records: [...records], retries, invocations: 1 });
const texts = (parts: readonly Part<string>[]) => parts.map(({ records, retries }) => [records.join(''), retries]);

describe('after a failure', () => {
  test.each([
    { what: 'all again', records: 'abc', first: 0, bisect: false, done: '', next: [['abc', 1]] },
    { what: 'from the first that failed', records: 'abcd', first: 2, bisect: false, done: 'ab', next: [['cd', 1]] },
    {
      what: 'in halves',
      records: 'abcde',
      first: 0,
      bisect: true,
      done: '',
      next: [
        ['abc', 0],
        ['de', 0],
      ],
    },
    { what: 'cut where it failed', records: 'abcde', first: 2, bisect: true, done: 'ab', next: [['cde', 0]] },
    { what: 'what cannot be halved', records: 'a', first: 0, bisect: true, done: '', next: [['a', 1]] },
  ])('$what', ({ records, first, bisect, done, next }) => {
    const failure = afterFailure(part(records), first, { bisectOnError: bisect, maximumRetries: 1 });
    expect(failure.done.join('')).toBe(done);
    expect(texts(failure.next)).toEqual(next);
    expect(failure.givenUp).toBeUndefined();
  });

  test('without retries left what is left is given up, unless it can be cut', () => {
    const none = { bisectOnError: false, maximumRetries: 0 };
    expect(afterFailure(part('abc'), 1, none)).toEqual({ done: ['a'], next: [], givenUp: part('bc') });
    expect(afterFailure(part('abc', 2), 0, { ...none, maximumRetries: 2 }).next).toEqual([]);
    expect(texts(afterFailure(part('ab'), 0, { ...none, bisectOnError: true }).next)).toEqual([
      ['a', 0],
      ['b', 0],
    ]);
  });

  test('with halves, whatever fails whenever, each record is done or given up once, in order, and those alone that fail', () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
        fc.nat(3),
        fc.boolean(),
        (fails, maximumRetries, reports) => {
          const all = fails.map((_, index) => index);
          const dealtWith: number[] = [];
          const givenUp: number[] = [];
          let left: readonly Part<number>[] = [{ records: all, retries: 0, invocations: 0 }];
          for (let invocations = 0; left.length > 0; invocations += 1) {
            expect(invocations).toBeLessThan(1_000);
            const [now, ...rest] = left as [Part<number>, ...Part<number>[]];
            const first = now.records.findIndex((record) => fails[record]);
            if (first < 0) {
              dealtWith.push(...now.records);
              left = rest;
              continue;
            }
            const failure = afterFailure(now, reports ? first : 0, { bisectOnError: true, maximumRetries });
            dealtWith.push(...failure.done, ...(failure.givenUp?.records ?? []));
            givenUp.push(...(failure.givenUp?.records ?? []));
            left = [...failure.next, ...rest];
          }
          expect(dealtWith).toEqual(all);
          expect(givenUp).toEqual(all.filter((record) => fails[record]));
        },
      ),
    );
  });
});

test('a batch is what fits: by number, by bytes, one at least', () => {
  const waiting = (...bytes: number[]) => bytes.map((size) => ({ record: undefined, bytes: size }));
  expect(gather(waiting(1, 1, 1), 3)).toEqual({ count: 3, full: true });
  expect(gather(waiting(1, 1), 3)).toEqual({ count: 2, full: false });
  expect(gather(waiting(1, 1, 1, 1), 3)).toEqual({ count: 3, full: true });
  expect(gather(waiting(43, 43, 1), 9, 100)).toEqual({ count: 2, full: true });
  expect(gather(waiting(43, 43), 9, 100)).toEqual({ count: 2, full: false });
  expect(gather(waiting(200, 1), 9, 100)).toEqual({ count: 1, full: true });
  expect(gather([], 9)).toEqual({ count: 0, full: false });
});
