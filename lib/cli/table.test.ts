import { expect, it } from 'vitest';
import { table } from './table.ts';

const linesOf = (...words: Parameters<typeof table>) => table(...words).split('\n');

it('aligns a column of numbers to the right, its head too, whatever number is not there', () => {
  const rows = [
    ['a', 7, '-', '', 'x'],
    ['bb', '-', 12345678, 3, 'y'],
    ['c', 1234567, 1, '', 'z'],
  ];
  expect(linesOf(['name', 'one', 'more', 'few', 'state'], rows, '')).toEqual([
    'NAME      ONE      MORE  FEW  STATE',
    'a           7         -       x',
    'bb          -  12345678    3  y',
    'c     1234567         1       z',
  ]);
});

it('aligns a text that stands among numbers as they are', () => {
  const rows = [
    ['a', { number: '8 (schedule)' }],
    ['b', 10],
  ];
  expect(linesOf(['name', 'target'], rows, '')).toEqual([
    'NAME        TARGET',
    'a     8 (schedule)',
    'b               10',
  ]);
});

it('aligns texts to the left, and a column in which there is nothing', () => {
  const rows = [
    ['1 of 2', '-'],
    ['-', '-'],
  ];
  expect(linesOf(['free', 'slot'], rows, 'none')).toEqual(['FREE    SLOT', '1 of 2  -', '-       -']);
  expect(table(['free'], [], 'none')).toBe('none');
});
