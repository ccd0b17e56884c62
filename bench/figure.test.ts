import { describe, expect, it } from 'vitest';
import { type Figure, median, statusOf } from './figure.ts';
import { table } from './table.ts';

const figure: Figure = { bench: 'b', what: 'requests per plan', value: 0.2, unit: '', kind: 'count', atMost: 0.25 };

describe('statusOf', () => {
  it.each<[string, Partial<Figure>, string]>([
    ['below its bound', {}, 'held'],
    ['at its bound', { value: 0.25 }, 'held'],
    ['a count past its bound', { value: 0.2501 }, 'broken'],
    ['a time past its bound', { value: 6, atMost: 5, kind: 'clock' }, 'slow'],
    ['a count that may not be above zero', { value: 1, atMost: 0 }, 'broken'],
    ['a count that could not be taken', { value: Number.NaN }, 'broken'],
  ])('of %s', (_what, other, status) => {
    expect(statusOf({ ...figure, ...other })).toBe(status);
  });

  it('of one without a bound', () => {
    const { atMost: _none, ...unbounded } = figure;
    expect(statusOf(unbounded)).toBe('unbounded');
  });
});

describe('median', () => {
  it.each([
    [[3], 3],
    [[10, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[], Number.NaN],
  ])('of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });
});

describe('table', () => {
  it('shows each figure beside its bound, and says which are broken', () => {
    const text = table([
      { ...figure, value: 0.123456 },
      { ...figure, what: 'units', value: 8, unit: 'WCU', atMost: 7 },
      { bench: 'c', what: 'plans', value: 1234.5, unit: '/s', kind: 'clock' },
    ]);
    const lines = text.split('\n').map((line) => line.replaceAll(/[│\s]+/g, ' ').trim());
    expect(lines).toContain('b requests per plan 0.123 0.25 held');
    expect(lines).toContain('b units 8 WCU 7 BROKEN');
    expect(lines).toContain('c plans 1,230 /s');
  });
});
