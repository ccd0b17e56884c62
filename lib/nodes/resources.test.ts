import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BOUNDS } from '../settings.ts';
import { amountOf, checkOrder, resourcesSchema } from './resources.ts';

const schema = resourcesSchema(4);
const accepts = (input: unknown) => schema.safeParse(input).success;

describe('resourcesSchema', () => {
  it.each(['cpu', 'gpu-milli/0', 'a', '0', 'example.com/fpga', 'A_b-c.d/e', 'a'.repeat(BOUNDS.resourceNameLength)])(
    'takes %j as a name',
    (name) => {
      expect(accepts({ [name]: 1 })).toBe(true);
    },
  );

  it.each([
    '',
    ' cpu',
    '-cpu',
    '.cpu',
    '_cpu',
    'c#pu',
    'cpu\n',
    'çpu',
    '$cpu',
    'a'.repeat(BOUNDS.resourceNameLength + 1),
  ])('refuses %j as a name', (name) => {
    expect(accepts({ [name]: 1 })).toBe(false);
  });

  it('keeps the name of the number of tasks to itself, and no other', () => {
    expect(accepts({ 'max-tasks': 1 })).toBe(false);
    expect(accepts({ 'max-tasks2': 1, 'max-task': 1 })).toBe(true);
  });

  it.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'prototype'])(
    'takes %s for a name like any other',
    (name) => {
      const parsed = schema.parse({ [name]: 7 });
      expect(Object.keys(parsed)).toEqual([name]);
      expect(amountOf(parsed, name)).toBe(7);
    },
  );

  it('refuses __proto__, which an object of JSON can hold and which must not vanish', () => {
    const outcome = schema.safeParse(JSON.parse('{"__proto__": 5}'));
    expect(outcome.success).toBe(false);
    expect(outcome.error?.issues).toMatchObject([{ path: ['__proto__'] }]);
    expect(({} as Record<string, unknown>).cpu).toBeUndefined();
  });

  it.each([0, 1, Number.MAX_SAFE_INTEGER, -0])('takes %d as an amount', (amount) => {
    expect(accepts({ cpu: amount })).toBe(true);
  });

  it.each([-1, 0.5, Number.MAX_SAFE_INTEGER + 1, Number.POSITIVE_INFINITY, Number.NaN, '1', null, true, 1n, [], {}])(
    'refuses %o as an amount',
    (amount) => {
      expect(accepts({ cpu: amount })).toBe(false);
    },
  );

  it('takes as many names as it is told to, and not one more', () => {
    const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`r${at}`, 1]));
    expect(accepts(named(4))).toBe(true);
    expect(schema.safeParse(named(5)).error?.issues).toMatchObject([{ message: 'expected at most 4 names, got 5' }]);
  });

  it('counts the names before it looks at any of them', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`#${at}`, -1]));
    expect(schema.safeParse(many).error?.issues).toHaveLength(1);
  });

  it.each([undefined, null, 1, 'cpu', [], ['cpu'], true])('refuses %o where an object is expected', (input) => {
    expect(accepts(input)).toBe(false);
  });
});

describe('amountOf', () => {
  it('is zero for what is not named, and for what every object inherits', () => {
    expect(amountOf({ cpu: 1 }, 'memory')).toBe(0);
    expect(amountOf({ cpu: 1 }, 'constructor')).toBe(0);
    expect(amountOf({ cpu: 1 }, '__proto__')).toBe(0);
  });
});

describe('checkOrder', () => {
  it('is cpu, memory, disk, then by name, and the number of tasks last', () => {
    const names = ['zinc', 'max-tasks', 'disk', 'a', 'memory', 'Zinc', 'cpu', 'gpu-milli/10', 'gpu-milli/2'];
    const ordered = ['cpu', 'memory', 'disk', 'Zinc', 'a', 'gpu-milli/10', 'gpu-milli/2', 'zinc', 'max-tasks'];
    expect(checkOrder(names)).toEqual(ordered);
    fc.assert(
      fc.property(fc.shuffledSubarray(names, { minLength: names.length }), (shuffled) => {
        expect(checkOrder(shuffled)).toEqual(ordered);
      }),
    );
  });
});
