import { describe, expect, test } from 'vitest';
import { compileFilterPattern } from './filter-pattern.ts';

const matches = (pattern: unknown, event: unknown) => compileFilterPattern(JSON.stringify(pattern))(event);

/** A field `a` of an event against a list of what it may be. */
const a = (list: unknown, event: unknown) => matches({ a: list }, event);

// Source: Lambda developer guide, "Filter rule syntax"; EventBridge user guide, "Comparison operators".
describe('a value', () => {
  test.each<[what: string, list: unknown[], matching: unknown[], other: unknown[]]>([
    ['text', ['x'], ['x'], ['X', 'xx', '', null, 1, ['y']]],
    ['empty text', [''], [''], [null, ' ', 0]],
    ['number', [300], [300, 300.0], ['300', 301, null]],
    ['null', [null], [null], ['', 0, 'null', false]],
    ['truth', [true], [true], [false, 'true', 1]],
    ['one of several', ['x', 1, null], ['x', 1, null], ['y', 2]],
    ['prefix', [{ prefix: 'ab' }], ['ab', 'abc'], ['Abc', 'cab', '', 1]],
    ['prefix, any case', [{ prefix: { 'equals-ignore-case': 'aB' } }], ['AB', 'abc'], ['ca']],
    ['suffix', [{ suffix: 'yz' }], ['yz', 'xyz'], ['xyZ', 'yza']],
    ['suffix, any case', [{ suffix: { 'equals-ignore-case': 'Yz' } }], ['xYZ'], ['yza']],
    ['equal in any case', [{ 'equals-ignore-case': 'aBc' }], ['abc', 'ABC'], ['abcd', 1]],
    ['anything but a text', [{ 'anything-but': 'x' }], ['y', '', 1, null], ['x']],
    ['anything but a number', [{ 'anything-but': 1 }], [2, '1'], [1]],
    ['anything but several', [{ 'anything-but': ['x', 'y'] }], ['z'], ['x', 'y']],
    ['anything but a prefix', [{ 'anything-but': { prefix: 'x' } }], ['y', 'yx'], ['x', 'xy']],
    ['anything but prefixes', [{ 'anything-but': { prefix: ['x', 'y'] } }], ['z'], ['xa', 'ya']],
    ['anything but a suffix', [{ 'anything-but': { suffix: 'x' } }], ['xy'], ['yx']],
    ['anything but any case', [{ 'anything-but': { 'equals-ignore-case': ['x', 'y'] } }], ['z'], ['X', 'Y']],
    ['numeric equality', [{ numeric: ['=', 5] }], [5], [6, '5']],
    ['below', [{ numeric: ['<', 5] }], [4.9, -1], [5, '4']],
    ['at most', [{ numeric: ['<=', 5] }], [5], [5.1]],
    ['above', [{ numeric: ['>', 5] }], [5.1], [5]],
    ['at least', [{ numeric: ['>=', 5] }], [5], [4.9]],
    ['range', [{ numeric: ['>', 0, '<=', 5] }], [0.1, 5], [0, 5.1]],
    ['exists', [{ exists: true }], ['x', '', null, 0, false, ['x']], [{ b: 1 }, [], [{ b: 1 }]]],
    ['operators beside values', ['x', { prefix: 'y' }, { exists: false }], ['x', 'ya', { b: 1 }], ['z']],
    ['any element of an array', ['x'], [['x'], ['y', 'x'], [['x']]], [['y'], []]],
    ['anything but, of an array', [{ 'anything-but': 'x' }], [['x', 'y']], [['x'], []]],
  ])('%s', (_, list, matching, other) => {
    for (const value of matching) expect([value, a(list, { a: value })]).toEqual([value, true]);
    for (const value of other) expect([value, a(list, { a: value })]).toEqual([value, false]);
  });

  test('that is not there matches nothing but exists: false', () => {
    for (const list of [['x'], [null], [''], [{ 'anything-but': 'x' }], [{ exists: true }], [{ prefix: '' }]]) {
      expect([list, a(list, {})]).toEqual([list, false]);
    }
    expect(a([{ exists: false }], {})).toBe(true);
    expect(a([{ exists: false }], { a: null })).toBe(false);
    // Nor is a name that every object inherits.
    expect(matches({ constructor: [{ exists: false }] }, {})).toBe(true);
  });
});

describe('a pattern', () => {
  test('has all its keys match, however deep', () => {
    const pattern = { a: { b: ['x'], c: { d: [{ exists: true }] } }, e: [1] };
    expect(matches(pattern, { a: { b: 'x', c: { d: 0, more: 1 } }, e: 1, more: 1 })).toBe(true);
    expect(matches(pattern, { a: { b: 'x', c: {} }, e: 1 })).toBe(false);
    expect(matches(pattern, { a: { b: 'x', c: { d: 0 } } })).toBe(false);
    expect(matches(pattern, { a: 'x', e: 1 })).toBe(false);
    expect(matches(pattern, null)).toBe(false);
  });

  test('below what is not there finds nothing, and so exists: false', () => {
    expect(matches({ a: { b: { c: [{ exists: false }] } } }, {})).toBe(true);
    expect(matches({ a: { b: ['x'] } }, {})).toBe(false);
  });

  test('takes one of $or, beside what must be, also within it', () => {
    const pattern = { a: ['x'], $or: [{ b: ['y'] }, { c: { d: ['z'] }, e: [1] }] };
    expect(matches(pattern, { a: 'x', b: 'y' })).toBe(true);
    expect(matches(pattern, { a: 'x', c: { d: 'z' }, e: 1 })).toBe(true);
    expect(matches(pattern, { a: 'x', c: { d: 'z' } })).toBe(false);
    expect(matches(pattern, { b: 'y' })).toBe(false);
    const inner = { a: { $or: [{ b: [1] }, { $or: [{ c: [1] }, { d: [1] }] }] } };
    expect(matches(inner, { a: { d: 1 } })).toBe(true);
    expect(matches(inner, { a: {} })).toBe(false);
  });

  test('over an array of objects is to hold within one of them; a field does not exist if none has it', () => {
    const both = { a: { b: ['x'], c: ['y'] } };
    expect(matches(both, { a: [{ b: 'n' }, { b: 'x', c: 'y' }] })).toBe(true);
    expect(matches(both, { a: [{ b: 'x' }, { c: 'y' }] })).toBe(false);
    const none = { a: { b: [{ exists: false }] } };
    expect(matches(none, { a: [{ c: 1 }, { d: 1 }] })).toBe(true);
    expect(matches(none, { a: [{ c: 1 }, { b: 1 }] })).toBe(false);
    expect(matches(none, { a: [] })).toBe(true);
  });
});

describe('DynamoDB', () => {
  const record = {
    eventName: 'MODIFY',
    dynamodb: {
      Keys: { slot: { S: 's' } },
      NewImage: {
        phase: { S: 'old' },
        desired: { N: '50' },
        tags: { L: [{ S: 'x' }, { N: '1' }] },
        gone: { NULL: true },
      },
    },
  };

  test('has numbers as texts: numeric operators never match them, only the same text does', () => {
    expect(matches({ dynamodb: { NewImage: { desired: { N: [{ numeric: ['>', 0] }] } } } }, record)).toBe(false);
    expect(matches({ dynamodb: { NewImage: { desired: { N: [50] } } } }, record)).toBe(false);
    expect(matches({ dynamodb: { NewImage: { desired: { N: ['50'] } } } }, record)).toBe(true);
    expect(matches({ dynamodb: { NewImage: { desired: { N: ['50.0'] } } } }, record)).toBe(false);
  });

  test('has lists of values: one of them is enough', () => {
    expect(matches({ dynamodb: { NewImage: { tags: { L: { S: ['x'] } } } } }, record)).toBe(true);
    expect(matches({ dynamodb: { NewImage: { tags: { L: { S: ['y'] } } } } }, record)).toBe(false);
    expect(matches({ dynamodb: { NewImage: { gone: { NULL: [true] } } } }, record)).toBe(true);
  });

  test('marks what TTL deletes', () => {
    const ttl = { eventName: 'REMOVE', userIdentity: { type: 'Service', principalId: 'dynamodb.amazonaws.com' } };
    const byTtl = { userIdentity: { type: ['Service'], principalId: ['dynamodb.amazonaws.com'] } };
    const byUser = { userIdentity: { type: [{ exists: false }] } };
    expect([matches(byTtl, ttl), matches(byTtl, record)]).toEqual([true, false]);
    expect([matches(byUser, ttl), matches(byUser, record)]).toEqual([false, true]);
  });
});

describe('an error says where', () => {
  test.each([
    ['{', /^is no JSON: /],
    ['[]', 'expected an object, found []'],
    ['{}', 'an empty object'],
    ['{"a":{}}', 'a: an empty object'],
    ['{"a":"x"}', 'a: expected a list or an object, found "x"'],
    ['{"a":{"b":[]}}', 'a.b: an empty list matches nothing'],
    ['{"a":[["x"]]}', 'a[0]: expected a value or an operator, found a list'],
    ['{"a":["x",{}]}', 'a[1]: expected one operator, found {}'],
    ['{"a":[{"prefix":"x","suffix":"y"}]}', 'a[0]: expected one operator'],
    ['{"a":[{"wildcard":"x*"}]}', 'a[0]: Lambda has no operator wildcard in filters; it has prefix, suffix'],
    ['{"a":[{"prefix":1}]}', 'a[0].prefix: expected a text, found 1'],
    ['{"a":[{"prefix":{"suffix":"x"}}]}', 'a[0].prefix: expected a text or equals-ignore-case, found suffix'],
    ['{"a":[{"numeric":[">"]}]}', 'a[0].numeric: expected ["=", n]'],
    ['{"a":[{"numeric":["!",1]}]}', 'a[0].numeric: expected ["=", n]'],
    ['{"a":[{"numeric":[">","1"]}]}', 'a[0].numeric: expected ["=", n]'],
    ['{"a":[{"numeric":["<",1,">",0]}]}', 'a[0].numeric: of a range the lower bound comes first'],
    ['{"a":[{"exists":"true"}]}', 'a[0]: exists: expected true or false alone'],
    ['{"a":[{"exists":true,"prefix":"x"}]}', 'a[0]: expected one operator'],
    ['{"a":[{"anything-but":["x",1]}]}', 'a[0].anything-but: expected texts or numbers'],
    ['{"a":[{"anything-but":[]}]}', 'a[0].anything-but: expected texts or numbers'],
    ['{"a":[{"anything-but":{"numeric":["=",1]}}]}', 'a[0].anything-but: expected prefix, suffix'],
    ['{"a":[{"anything-but":{"prefix":[]}}]}', 'a[0].anything-but.prefix: expected at least one value'],
    ['{"$or":[{"a":["x"]}]}', '$or: expected a list of at least two objects'],
    ['{"a":{"$or":[{"b":["x"]},"y"]}}', 'a.$or[1]: expected an object, found "y"'],
    [`{"a":["${'x'.repeat(4096)}"]}`, 'has 4106 characters, at most 4096 may be'],
  ])('%s', (pattern, message) => {
    expect(() => compileFilterPattern(pattern)).toThrow(message);
  });
});
