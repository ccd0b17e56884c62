import * as z from 'zod/mini';

/** A whole number from `min` to `max`, or one of `others`. */
export function whole(min: number, max: number, ...others: readonly number[]) {
  const expected = `expected a whole number from ${min} to ${max}${others.map((other) => ` or ${other}`).join('')}`;
  const isIn = (value: number) => Number.isInteger(value) && value >= min && value <= max;
  return z.number().check(z.refine((value) => isIn(value) || others.includes(value), expected));
}
