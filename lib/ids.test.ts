import { describe, expect, it } from 'vitest';
import { isId, planId, taskId } from './ids.ts';

const GOOD = ['a', '0', '_', 'web', 'web:1/2+3=4,5~6-7.8', '01JD8Z7Q9K', '__proto__', 'constructor', 'a'.repeat(128)];
const BAD = [
  '',
  '-a',
  '.a',
  ':a',
  '!free',
  'a b',
  'a#b',
  'a@b',
  'a\n',
  '\na',
  'é',
  'a\u0000',
  'a*',
  'a|b',
  '\ud800',
  'a'.repeat(129),
];

describe('an id', () => {
  it.each(GOOD)('may be %j', (text) => {
    expect(isId(text)).toBe(true);
    expect(planId.parse(text)).toBe(text);
  });

  it.each(BAD)('may not be %j', (text) => {
    expect(isId(text)).toBe(false);
    expect(taskId.safeParse(text).success).toBe(false);
  });

  it.each([undefined, null, 1, {}, ['a'], new String('a')])('is a text, not %o', (value) => {
    expect(isId(value)).toBe(false);
    expect(taskId.safeParse(value).success).toBe(false);
  });
});
