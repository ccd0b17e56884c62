import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countPorts, inRanges, mergeRanges, parsePortRanges } from './ports.ts';

describe('parsePortRanges', () => {
  it.each([
    ['', []],
    ['  ', []],
    ['22', [[22, 22]]],
    [
      '22,80-90',
      [
        [22, 22],
        [80, 90],
      ],
    ],
    [
      ' 22 , 80 - 90 ',
      [
        [22, 22],
        [80, 90],
      ],
    ],
    [
      '90,22',
      [
        [22, 22],
        [90, 90],
      ],
    ],
    [
      '0,65535',
      [
        [0, 0],
        [65_535, 65_535],
      ],
    ],
    ['007', [[7, 7]]],
    ['80-80', [[80, 80]]],
  ])('reads %j', (text, ranges) => {
    expect(parsePortRanges(text)).toEqual(ranges);
  });

  it('takes overlapping and touching reservations as one, since they are no collision', () => {
    expect(parsePortRanges('80-90,85,91-95,22,22')).toEqual([
      [22, 22],
      [80, 95],
    ]);
  });

  it.each([
    '65536',
    '80-65536',
    '90-80',
    '-1',
    '80-',
    '-80',
    '80,',
    ',80',
    '80,,90',
    'http',
    '8 0',
    '1e3',
    '0x50',
    '99999',
    '100000',
    '1-2-3',
    '８０',
  ])('refuses %j', (text) => {
    expect(parsePortRanges(text)).toBeUndefined();
  });
});

const ranges = fc.array(
  fc.tuple(fc.nat(40), fc.nat(8)).map(([from, length]): [number, number] => [from, from + length]),
  { maxLength: 8 },
);

describe('mergeRanges', () => {
  it('keeps exactly the ports of the ranges, in order, with a gap between any two', () => {
    fc.assert(
      fc.property(ranges, (list) => {
        const merged = mergeRanges(list);
        const ports = Array.from({ length: 60 }, (_, port) => port);
        const of = (each: typeof list) => ports.filter((port) => each.some(([from, to]) => from <= port && port <= to));
        expect(ports.filter((port) => inRanges(merged, port))).toEqual(of(list));
        expect(countPorts(merged)).toBe(of(list).length);
        for (const [at, [from]] of merged.slice(1).entries()) expect(from).toBeGreaterThan((merged[at]?.[1] ?? 0) + 1);
      }),
    );
  });

  it('leaves what it was given as it was', () => {
    const list: [number, number][] = [
      [80, 90],
      [85, 95],
    ];
    mergeRanges(list);
    expect(list).toEqual([
      [80, 90],
      [85, 95],
    ]);
  });
});
