import { describe, expect, it } from 'vitest';
import { holding, type placementOf } from '../../test/support/builders.ts';
import type { Exchange } from './account.ts';
import { type BlindChange, blindly, type Demand } from './blind.ts';

type Wants = NonNullable<Parameters<typeof placementOf>[1]>;
type Part = Exchange & { readonly demand?: Demand };

const takes = (...tasks: readonly [string, Wants][]): Part => ({
  gives: [],
  takes: tasks.map(([id, wants]) => holding(id, wants)),
});
const gives = (...tasks: readonly [string, Wants][]): Part => ({
  gives: tasks.map(([id, wants]) => holding(id, wants)),
  takes: [],
});

/** What one part after the other adds up to; undefined as soon as conditions cannot say it. */
function adding(...parts: readonly Part[]): BlindChange | undefined {
  let change: BlindChange | undefined;
  for (const { demand = 'schedulable', ...exchange } of parts) {
    change = blindly(change, exchange, demand);
    if (!change) return undefined;
  }
  return change;
}

const cpu = (amount: number): Wants => ({ resources: { cpu: amount } });
const port = (value = 80, ignoreCollision = false): Wants => ({ ports: [{ ip: 'a', value, ignoreCollision }] });
const volume = (mode: 'single-writer' | 'multi-writer'): Wants => ({ volumes: [{ source: 'data', mode }] });
const claims = (change: BlindChange | undefined) => change && Object.fromEntries(change.claims);

describe('amounts', () => {
  it('that are taken by several parts must all be there at first', () => {
    const change = adding(takes(['t1', cpu(300)], ['t2', cpu(200)]), takes(['t3', cpu(100)]));
    expect(change?.net).toEqual(
      new Map([
        ['cpu', 600],
        ['max-tasks', 3],
      ]),
    );
    expect(change?.need).toEqual(
      new Map([
        ['cpu', 600],
        ['max-tasks', 3],
      ]),
    );
  });

  it('that are given back after they were needed do not lessen the need', () => {
    const change = adding(takes(['t1', cpu(500)]), gives(['h1', cpu(400)]));
    expect(change?.net.get('cpu')).toBe(100);
    expect(change?.need.get('cpu')).toBe(500);
  });

  it('that some part needed are needed, however little the parts after it need', () => {
    const change = adding(takes(['t1', cpu(500)]), {
      gives: gives(['h1', cpu(400)]).gives,
      takes: takes(['t2', cpu(100)]).takes,
    });
    expect(change?.net.get('cpu')).toBe(200);
    expect(change?.need.get('cpu')).toBe(500);
  });

  it('that are given back first lessen the need, down to less than nothing', () => {
    const change = adding(gives(['h1', cpu(400)]), takes(['t1', cpu(300)]));
    expect(change?.net.get('cpu')).toBe(-100);
    expect(change?.need.get('cpu')).toBe(-100);
  });

  it('that are only given back ask for nothing', () => {
    const change = adding({ ...gives(['h1', cpu(400)]), demand: 'there' });
    expect(change?.need.size).toBe(0);
    expect(change?.net).toEqual(
      new Map([
        ['cpu', -400],
        ['max-tasks', -1],
      ]),
    );
  });

  it('of zero are not named', () => {
    expect(adding(takes(['t1', { resources: { fpga: 0 } }]))?.net.has('fpga')).toBe(false);
  });

  it('past the safe integers cannot be said', () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(adding(takes(['t1', cpu(most)]))).toBeDefined();
    expect(adding(takes(['t1', cpu(most)], ['t2', cpu(1)]))).toBeUndefined();
    expect(adding(gives(['h1', cpu(most)], ['h2', cpu(1)]))).toBeUndefined();
  });
});

describe('the demand', () => {
  it.each([
    ['there', 'there', 'there'],
    ['there', 'ready', 'ready'],
    ['ready', 'schedulable', 'schedulable'],
    ['schedulable', 'there', 'schedulable'],
    ['schedulable', 'ready', 'schedulable'],
  ] as const)('of %s and then %s is %s', (first, second, both) => {
    const nothing = takes();
    expect(adding({ ...nothing, demand: first }, { ...nothing, demand: second })?.demand).toBe(both);
  });
});

describe('claims', () => {
  it('that are taken must be free', () => {
    const change = adding(takes(['t1', port()], ['t2', { cores: [1], devices: ['gpu'], ...volume('single-writer') }]));
    expect(claims(change)).toEqual({
      'port/a/80': { op: 'take', task: 't1' },
      'core/1': { op: 'take', task: 't2' },
      'device/gpu': { op: 'take', task: 't2' },
      'volume/data': { op: 'take', task: 't2' },
    });
  });

  it('that are given back must be held by who gives them', () => {
    expect(claims(adding(gives(['h1', port()])))).toEqual({ 'port/a/80': { op: 'release', task: 'h1' } });
  });

  it('pass from one task to the next, in one part or in two', () => {
    const passed = { 'port/a/80': { op: 'pass', from: 'h1', task: 't1' } };
    expect(claims(adding({ gives: gives(['h1', port()]).gives, takes: takes(['t1', port()]).takes }))).toEqual(passed);
    expect(claims(adding(gives(['h1', port()]), takes(['t1', port()])))).toEqual(passed);
  });

  it.each([
    ['made twice in one part', [takes(['t1', port()], ['t2', port()])]],
    ['made twice in two parts', [takes(['t1', port()]), takes(['t2', port()])]],
    ['made and given back', [takes(['t1', port()]), gives(['t1', port()])]],
    ['passed and given back', [gives(['h1', port()]), takes(['t1', port()]), gives(['t1', port()])]],
    ['passed and made again', [gives(['h1', port()]), takes(['t1', port()]), takes(['t2', port()])]],
    ['given back twice', [gives(['h1', port()]), gives(['h2', port()])]],
  ])('%s cannot be said', (_what, parts) => {
    expect(adding(...parts)).toBeUndefined();
  });

  it('may be twenty of a change, not more, since an expression has no room for them', () => {
    const cores = (from: number, count: number): Wants => ({
      cores: Array.from({ length: count }, (_, at) => from + at),
    });
    expect(adding(takes(['t1', cores(0, 20)]))).toBeDefined();
    expect(adding(takes(['t1', cores(0, 21)]))).toBeUndefined();
    expect(adding(takes(['t1', cores(0, 19)]), takes(['t2', volume('multi-writer')]))).toBeDefined();
    expect(adding(takes(['t1', cores(0, 20)]), takes(['t2', volume('multi-writer')]))).toBeUndefined();
    expect(adding(takes(['t1', cores(0, 20)]), gives(['h1', volume('multi-writer')]))).toBeUndefined();
  });
});

describe('resources', () => {
  it('may be twenty-four of a change, the number of tasks among them', () => {
    const named = (count: number) => ({
      resources: Object.fromEntries(Array.from({ length: count }, (_, at) => [`r${at}`, 1])),
    });
    expect(adding(takes(['t1', named(23)]))).toBeDefined();
    expect(adding(takes(['t1', named(24)]))).toBeUndefined();
  });
});

describe('room for names', () => {
  // port/a/80 and t1, and three bytes more.
  const ONE = 14;
  const named = (...parts: readonly Part[]) => adding(...parts)?.named;

  it('is taken by ports and volumes, and by each who shares one', () => {
    expect(named(takes(['t1', port()], ['t2', port(81, true)]), takes(['t3', port(81, true)]))).toEqual({
      net: 3 * ONE,
      need: 3 * ONE,
    });
    expect(named(takes(['t1', volume('single-writer')]))).toEqual({ net: 16, need: 16 });
  });

  it('is not taken by what the node lists, or by amounts', () => {
    expect(named(takes(['t1', { cores: [1], devices: ['gpu'], resources: { cpu: 1 } }]))).toEqual({ net: 0 });
  });

  it('is taken once by who shares one thing by two claims', () => {
    const twice = { ports: [80, 80].map((value) => ({ ip: 'a', value, ignoreCollision: true })) };
    expect(named(takes(['t1', twice]))).toEqual({ net: ONE, need: ONE });
  });

  it('must be there at the highest point', () => {
    expect(named(takes(['t1', port()]), gives(['h1', port(81)]))).toEqual({ net: 0, need: ONE });
    expect(named(gives(['h1', port(81)]), takes(['t1', port()]))).toEqual({ net: 0, need: 0 });
    expect(named(takes(['t1', port()]), gives(['h1', port(81)], ['h2', port(82)]), takes(['t2', port(83)]))).toEqual({
      net: 0,
      need: ONE,
    });
  });

  it('that is only given back asks for none', () => {
    expect(named(gives(['h1', port()]))).toEqual({ net: -ONE });
  });
});

describe('ports whose collisions are ignored', () => {
  it('are joined and left by tasks that share them', () => {
    const joined = adding(takes(['t1', port(80, true)], ['t2', port(80, true)]), takes(['t3', port(81, true)]));
    expect(joined?.claims.size).toBe(0);
    expect(joined?.joins).toEqual(
      new Map([
        ['port/a/80', new Set(['t1', 't2'])],
        ['port/a/81', new Set(['t3'])],
      ]),
    );
    const left = adding(gives(['h1', port(80, true)]), gives(['h2', port(80, true)]));
    expect(left?.claims.size).toBe(0);
    expect(left?.leaves).toEqual(new Map([['port/a/80', new Set(['h1', 'h2'])]]));
  });

  it('may be left by twenty tasks in a change, since each must be among those who share', () => {
    const leaving = (count: number) =>
      gives(...Array.from({ length: count }, (_, at): [string, Wants] => [`h${at}`, port(80, true)]));
    expect(adding(leaving(20))).toBeDefined();
    expect(adding(leaving(21))).toBeUndefined();
  });

  it.each([
    ['joined and left', [takes(['t1', port(80, true)]), gives(['t1', port(80, true)])]],
    ['left and joined', [gives(['h1', port(80, true)]), takes(['t1', port(80, true)])]],
    ['joined and taken', [takes(['t1', port(80, true)]), takes(['t2', port()])]],
    ['taken and joined', [takes(['t1', port()]), takes(['t2', port(80, true)])]],
    ['left and taken', [gives(['h1', port(80, true)]), takes(['t1', port()])]],
    ['given back and joined', [gives(['h1', port()]), takes(['t1', port(80, true)])]],
  ])('%s in one change cannot be said', (_what, parts) => {
    expect(adding(...parts)).toBeUndefined();
  });
});

describe('volumes', () => {
  it('are joined and left by tasks that share them', () => {
    const joined = adding(takes(['t1', volume('multi-writer')]), takes(['t2', volume('multi-writer')]));
    expect(joined?.joins).toEqual(new Map([['volume/data', new Set(['t1', 't2'])]]));
    const left = adding(gives(['h1', volume('multi-writer')], ['h2', volume('multi-writer')]));
    expect(left?.leaves).toEqual(new Map([['volume/data', new Set(['h1', 'h2'])]]));
  });

  it.each([
    ['joined and left', [takes(['t1', volume('multi-writer')]), gives(['h1', volume('multi-writer')])]],
    ['left and joined', [gives(['h1', volume('multi-writer')]), takes(['t1', volume('multi-writer')])]],
    ['joined and held alone', [takes(['t1', volume('multi-writer')]), takes(['t2', volume('single-writer')])]],
    ['left and held alone', [gives(['h1', volume('multi-writer')]), takes(['t1', volume('single-writer')])]],
    ['given back and then shared', [gives(['h1', volume('single-writer')]), takes(['t1', volume('multi-writer')])]],
  ])('%s in one change cannot be said', (_what, parts) => {
    expect(adding(...parts)).toBeUndefined();
  });
});
