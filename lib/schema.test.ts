import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import {
  boundedProblems,
  clip,
  epochMs,
  InvalidInputError,
  integer,
  listOf,
  objectOf,
  oneOf,
  parsed,
  pathText,
  problemsOf,
  quantity,
  recordOf,
  shown,
  text,
} from './schema.ts';
import { RESULTS } from './settings.ts';

const schema = objectOf({
  name: text(1, 3),
  amount: z.optional(quantity),
  list: z.optional(listOf(objectOf({ kind: oneOf(['a', 'b']) }), 2)),
  named: z.optional(recordOf(text(1, 5), integer(1, 9), 2, 'an object of digits by name')),
});

function problems(input: unknown): string[] {
  const outcome = schema.safeParse(input);
  return outcome.success ? [] : problemsOf(outcome.error, input).map(({ path, message }) => `${path}: ${message}`);
}

describe('problemsOf', () => {
  it.each([
    [{}, ['name: expected a text of 1 to 3 characters, it is missing']],
    [{ name: '' }, ['name: expected a text of 1 to 3 characters, got ""']],
    [{ name: 'long' }, ['name: expected a text of 1 to 3 characters, got "long"']],
    [{ name: 7 }, ['name: expected a text of 1 to 3 characters, got 7']],
    [{ name: null }, ['name: expected a text of 1 to 3 characters, got null']],
    [{ name: 'a', amount: -1 }, ['amount: expected a whole number from 0 to 9007199254740991, got -1']],
    [{ name: 'a', amount: -0.5 }, ['amount: expected a whole number from 0 to 9007199254740991, got -0.5']],
    [
      { name: 'a', amount: 1e16 },
      ['amount: expected a whole number from 0 to 9007199254740991, got 10000000000000000'],
    ],
    [{ name: 'a', list: {} }, ['list: expected a list, got an object']],
    [{ name: 'a', list: [1] }, ['list[0]: expected an object, got 1']],
    [{ name: 'a', list: [{ kind: 'a' }, { kind: 'c' }] }, ['list[1].kind: expected one of a, b, got "c"']],
    [{ name: 'a', list: [{}, {}, {}] }, ['list: expected at most 2 entries, got a list of 3']],
    [{ name: 'a', named: { toolong: 1 } }, ['named.toolong: name expected to be a text of 1 to 5 characters']],
    [{ name: 'a', named: { a: 0 } }, ['named.a: expected a whole number from 1 to 9, got 0']],
    [{ name: 'a', named: { a: 1, b: 2, c: 3 } }, ['named: expected at most 2 names, got 3']],
    [{ name: 'a', named: [] }, ['named: expected an object of digits by name, got a list of 0']],
    [{ name: 'a', nmae: 1 }, ['nmae: unknown field: take it out, or check its spelling']],
    [
      { nmae: 1 },
      [
        'name: expected a text of 1 to 3 characters, it is missing',
        'nmae: unknown field: take it out, or check its spelling',
      ],
    ],
    [null, [': expected an object, got null']],
    [[], [': expected an object, got a list of 0']],
  ])('says where each problem of %j is, what was expected and what came', (input, expected) => {
    expect(problems(input)).toEqual(expected);
  });

  it('puts the path of the whole before those of its parts', () => {
    const outcome = schema.safeParse({ name: 1 });
    expect(outcome.error && problemsOf(outcome.error, { name: 1 }, ['placements', 3])[0]?.path).toBe(
      'placements[3].name',
    );
  });

  it('ends after as many as a result may hold, and says that there are more', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`x${at}`, 1]));
    const found = problems({ name: 'a', ...many });
    expect(found).toHaveLength(RESULTS.maxProblems + 1);
    expect(found.at(-1)).toBe(': and more: 50 problems are listed');
    const exactly = Object.fromEntries(Array.from({ length: RESULTS.maxProblems }, (_, at) => [`x${at}`, 1]));
    expect(problems({ name: 'a', ...exactly })).toHaveLength(RESULTS.maxProblems);
  });

  it('never carries more of an input than fits a message', () => {
    const huge = 'x'.repeat(1_000_000);
    const outcome = schema.safeParse({ name: huge, [huge]: 1, named: { [huge]: 1 } });
    for (const { path, message } of outcome.error ? problemsOf(outcome.error, {}) : []) {
      expect(path.length).toBeLessThanOrEqual(RESULTS.maxMessageLength);
      expect(message.length).toBeLessThanOrEqual(RESULTS.maxMessageLength);
    }
  });

  it('shows values that an input has of its own, never what it inherits', () => {
    const inherits = objectOf({ constructor: text(1, 3), toString: z.optional(text(1, 3)) });
    const outcome = inherits.safeParse({});
    expect(outcome.error && problemsOf(outcome.error, {})[0]?.message).toMatch(/it is missing$/);
  });
});

describe('boundedProblems', () => {
  it('is the same when it is applied once more', () => {
    const list = Array.from({ length: 60 }, (_, at) => ({ path: `p${at}`, message: 'x'.repeat(500) }));
    expect(boundedProblems(boundedProblems(list))).toEqual(boundedProblems(list));
  });
});

describe('text', () => {
  const three = text(1, 3);

  it.each(['a', 'abc', 'é', '😀😀😀', 'a\nb', '\u0000', '  '])('takes %j', (value) => {
    expect(three.safeParse(value).success).toBe(true);
  });

  it.each(['', 'abcd', '😀😀😀😀', '\ud800', 'a\udc00', '\ude00\ud83d'])('refuses %j', (value) => {
    expect(three.safeParse(value).success).toBe(false);
  });
});

describe('quantity', () => {
  it.each([0, -0, 1, 9_007_199_254_740_991])('takes %d', (value) => {
    expect(quantity.safeParse(value).success).toBe(true);
  });

  it.each([-1, 1.5, 9_007_199_254_740_992, Number.POSITIVE_INFINITY, Number.NaN, '1', 1n, null, [1]])(
    'refuses %o',
    (value) => {
      expect(quantity.safeParse(value).success).toBe(false);
    },
  );
});

describe('epochMs', () => {
  it('is a time that a Date can hold, so that it can be shown', () => {
    expect(epochMs.safeParse(8_640_000_000_000_000).success).toBe(true);
    for (const bad of [-1, 0.5, 8_640_000_000_000_001, '0', null]) expect(epochMs.safeParse(bad).success).toBe(false);
  });
});

describe('clip', () => {
  it('cuts at a length, and leaves no half of a character', () => {
    expect(clip('abc', 3)).toBe('abc');
    expect(clip('abcd', 3)).toBe('ab…');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 8 }), (value, length) => {
        const cut = clip(value, length);
        expect(cut.length).toBeLessThanOrEqual(length);
        expect(Buffer.from(cut).toString()).toBe(cut);
      }),
    );
  });

  it('replaces the halves of characters that an input brings', () => {
    expect(clip('a\ud800b', 10)).toBe('a\ufffdb');
  });
});

describe('pathText', () => {
  it('is how JavaScript would name the value', () => {
    expect(pathText(['placements', 3, 'resources', 'cpu'])).toBe('placements[3].resources.cpu');
    expect(pathText([])).toBe('');
    expect(pathText(['x'.repeat(100), 0])).toBe(`${'x'.repeat(79)}…[0]`);
  });
});

describe('shown', () => {
  it.each([
    [undefined, 'nothing'],
    [null, 'null'],
    ['a"b', '"a\\"b"'],
    ['x'.repeat(1000), `"${'x'.repeat(59)}…"`],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [false, 'false'],
    [[1, 2], 'a list of 2'],
    [{ a: 1 }, 'an object'],
    [1n, 'a bigint'],
  ])('shows %o as %s', (value, expected) => {
    expect(shown(value)).toBe(expected);
  });
});

describe('parsed', () => {
  it('is the value, or an error that names what was handed in and every problem with it', () => {
    expect(parsed(schema, { name: 'a' }, 'the thing')).toEqual({ name: 'a' });
    const attempt = () => parsed(schema, { name: 7, more: 1 }, 'the thing');
    expect(attempt).toThrow(InvalidInputError);
    expect(attempt).toThrow(
      'the thing is invalid: name: expected a text of 1 to 3 characters, got 7; more: unknown field: take it out, or check its spelling',
    );
  });
});
