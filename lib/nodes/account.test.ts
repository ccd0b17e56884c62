import { describe, expect, it } from 'vitest';
import { accountWith, holding, NOW } from '../../test/support/builders.ts';
import type { EpochMs } from '../time.ts';
import { type Account, accountAt, exchanged, isReserved, isSchedulable, madeIneligible } from './account.ts';
import { type ClaimKey, FREE, portKey } from './claims.ts';
import { UNLIMITED_TASKS } from './resources.ts';

const claimsOf = ({ claims }: Account) => Object.fromEntries(claims);
const sharersOf = ({ sharers }: Account) => Object.fromEntries([...sharers].map(([key, tasks]) => [key, [...tasks]]));

describe('the account of a new node', () => {
  it('has everything free', () => {
    const account = accountWith({
      capacity: { cpu: 4000, memory: 1024, 'gpu-milli/0': 1000 },
      cores: [0, 1],
      devices: [{ id: 'gpu-0' }],
      maxTasks: 110,
    });
    expect(account.capacity).toEqual({ cpu: 4000, memory: 1024, 'gpu-milli/0': 1000, 'max-tasks': 110 });
    expect(account.free).toEqual(account.capacity);
    expect(claimsOf(account)).toEqual({ 'core/0': FREE, 'core/1': FREE, 'device/gpu-0': FREE });
    expect(account).toMatchObject({
      status: 'ready',
      eligibility: 'eligible',
      drain: false,
      profile: 1,
      version: 1,
      index: 0,
    });
  });

  it('has room for as many tasks as anybody may have, if it sets no limit', () => {
    expect(accountWith({}).free).toEqual({ 'max-tasks': UNLIMITED_TASKS });
  });

  it('withdraws an unhealthy device, and one that is listed both ways', () => {
    const devices = [{ id: 'a', healthy: false }, { id: 'b' }, { id: 'c' }, { id: 'c', healthy: false }];
    const account = accountWith({ devices });
    expect([...account.withdrawn]).toEqual(['device/a', 'device/c']);
    expect(claimsOf(account)).toEqual({ 'device/a': FREE, 'device/b': FREE, 'device/c': FREE });
  });
});

describe('isSchedulable', () => {
  it('is so for a node that is ready, eligible and not draining, and for no other', () => {
    const usable = { status: 'ready', eligibility: 'eligible', drain: false } as const;
    expect(isSchedulable(usable)).toBe(true);
    for (const status of ['initializing', 'disconnected', 'down'] as const) {
      expect(isSchedulable({ ...usable, status })).toBe(false);
    }
    expect(isSchedulable({ ...usable, eligibility: 'ineligible' })).toBe(false);
    expect(isSchedulable({ ...usable, drain: true })).toBe(false);
  });
});

describe('a node that is ineligible for a time', () => {
  const account = accountWith({});
  const at = (ms: number) => (NOW + ms) as EpochMs;

  it('is eligible again at its end, and knows of no end any more', () => {
    const marked = madeIneligible(account, at(1000));
    expect(accountAt(marked, at(999))).toEqual({ ...account, eligibility: 'ineligible', eligibleAt: at(1000) });
    expect(accountAt(marked, at(1000))).toEqual(account);
  });

  it('stays so where no end is set', () => {
    const marked = madeIneligible(account, undefined);
    expect(accountAt(marked, Number.MAX_SAFE_INTEGER as EpochMs)).toEqual({ ...account, eligibility: 'ineligible' });
  });
});

describe('reserved ports', () => {
  const reserving = (reservedPorts: string, own = '') =>
    accountWith({ reservedPorts, addresses: [{ ip: '10.0.0.5', reservedPorts: own }, { ip: '10.0.0.6' }] });

  it.each([
    ['few', '22'],
    ['many', '22,9000-9100'],
  ])('that are %s hold on every address, those of an address on that alone', (_how, everywhere) => {
    const account = reserving(everywhere, '80-81');
    const asked = (['10.0.0.5', '10.0.0.6', 'elsewhere'] as const).map((ip) =>
      [22, 80, 81, 82].map((port) => isReserved(account, ip, port)),
    );
    expect(asked).toEqual([
      [true, true, true, false],
      [true, false, false, false],
      [true, false, false, false],
    ]);
  });

  it('stand as keys up to sixteen, and as ranges from seventeen on, so that the item stays small', () => {
    const few = reserving('1-10', '11-16');
    expect(few.withdrawn.size).toBe(16);
    expect(few.reservedRanges.size).toBe(0);
    const many = reserving('1-10', '11-17');
    expect(many.withdrawn.size).toBe(0);
    expect([...many.reservedRanges]).toEqual([
      ['*', [[1, 10]]],
      ['10.0.0.5', [[11, 17]]],
    ]);
  });

  it('that overlap are one reservation', () => {
    const account = reserving('80-90,85-95', '80-95');
    expect(account.reservedRanges.get('*')).toEqual([[80, 95]]);
    expect(isReserved(account, '10.0.0.5', 90)).toBe(true);
  });

  it('of an address that is listed twice add up', () => {
    const addresses = [
      { ip: 'a', reservedPorts: '80' },
      { ip: 'a', reservedPorts: '81' },
    ];
    const account = accountWith({ addresses });
    expect([80, 81, 82].map((port) => isReserved(account, 'a', port))).toEqual([true, true, false]);
  });
});

describe('exchanged', () => {
  const spec = { capacity: { cpu: 1000 }, cores: [0, 1], devices: [{ id: 'gpu' }], maxTasks: 5 };
  const everything = {
    resources: { cpu: 400 },
    cores: [0],
    devices: ['gpu'],
    ports: [{ ip: 'a', value: 80 }],
    volumes: [
      { source: 'data', mode: 'single-writer' as const },
      { source: 'logs', mode: 'multi-writer' as const },
    ],
  };

  it('takes resources, a place among the tasks, and every claim', () => {
    const account = exchanged(accountWith(spec), { gives: [], takes: [holding('t1', everything)] });
    expect(account.free).toEqual({ cpu: 600, 'max-tasks': 4 });
    expect(claimsOf(account)).toEqual({
      'core/0': 't1',
      'core/1': FREE,
      'device/gpu': 't1',
      'port/a/80': 't1',
      'volume/data': 't1',
    });
    expect(sharersOf(account)).toEqual({ 'volume/logs': ['t1'] });
  });

  it('leaves nothing behind of a task that has given everything back', () => {
    const empty = accountWith(spec);
    const task = holding('t1', everything);
    const taken = exchanged(empty, { gives: [], takes: [task] });
    expect(exchanged(taken, { gives: [task], takes: [] })).toEqual(empty);
  });

  it('gives first, so that a task can have what another leaves in the same exchange', () => {
    const before = exchanged(accountWith(spec), { gives: [], takes: [holding('t1', everything)] });
    const after = exchanged(before, { gives: [holding('t1', everything)], takes: [holding('t2', everything)] });
    expect(after.free).toEqual(before.free);
    expect(claimsOf(after)).toEqual({
      ...claimsOf(before),
      'core/0': 't2',
      'device/gpu': 't2',
      'port/a/80': 't2',
      'volume/data': 't2',
    });
    expect(sharersOf(after)).toEqual({ 'volume/logs': ['t2'] });
  });

  it('gives back no claim that another task holds', () => {
    const before = exchanged(accountWith(spec), { gives: [], takes: [holding('t1', everything)] });
    const after = exchanged(before, { gives: [{ ...holding('t2', everything), resources: {} }], takes: [] });
    expect(after).toEqual(before);
  });

  describe('of a port whose collision a task ignores', () => {
    const KEY = portKey('a', 80);
    const ignoring = (task: string) => holding(task, { ports: [{ ip: 'a', value: 80, ignoreCollision: true }] });
    const before = exchanged(accountWith(spec), { gives: [], takes: [holding('t1', everything)] });
    const beside = exchanged(before, { gives: [], takes: [ignoring('t2')] });

    it('has the task share the port beside its holder, which keeps it, then and when the task ends', () => {
      expect([beside.claims.get(KEY), beside.sharers.get(KEY)]).toEqual(['t1', new Set(['t2'])]);
      expect(exchanged(beside, { gives: [ignoring('t2')], takes: [] })).toEqual(before);
    });

    it('has the task share it on when the holder has left', () => {
      const left = exchanged(beside, { gives: [holding('t1', everything)], takes: [] });
      expect([left.claims.has(KEY), left.sharers.get(KEY)]).toEqual([false, new Set(['t2'])]);
    });

    it('has the task share it if nobody holds it', () => {
      const account = exchanged(accountWith(spec), { gives: [], takes: [ignoring('t2'), ignoring('t3')] });
      expect([account.claims.has(KEY), account.sharers.get(KEY)]).toEqual([false, new Set(['t2', 't3'])]);
      const gives = [ignoring('t2'), ignoring('t3')];
      expect(exchanged(account, { gives, takes: [] })).toEqual(accountWith(spec));
    });

    it('keeps the port for a task that gives up the one of two claims that ignores collisions', () => {
      const both = exchanged(before, { gives: [], takes: [ignoring('t1')] });
      expect(exchanged(both, { gives: [ignoring('t1')], takes: [] })).toEqual(before);
    });

    it('takes it back from a task that an earlier version has made its holder', () => {
      const empty = accountWith(spec);
      const old: Account = { ...empty, claims: new Map(empty.claims).set(KEY, 't2') };
      const after = exchanged(old, { gives: [{ ...ignoring('t2'), resources: {} }], takes: [] });
      expect(after).toEqual(empty);
      expect(exchanged(old, { gives: [{ ...ignoring('t3'), resources: {} }], takes: [] })).toEqual(old);
    });
  });

  it('keeps the others that share a volume when one leaves off', () => {
    const shares = (task: string) => holding(task, { volumes: [{ source: 'logs', mode: 'reader-only' }] });
    const three = exchanged(accountWith(spec), { gives: [], takes: ['t1', 't2', 't3'].map(shares) });
    expect(sharersOf(exchanged(three, { gives: [shares('t2')], takes: [] }))).toEqual({ 'volume/logs': ['t1', 't3'] });
  });

  it('writes down no resource that the node does not have and that nobody uses any more', () => {
    const foreign = holding('t1', { resources: { fpga: 2, none: 0 } });
    const taken = exchanged(accountWith(spec), { gives: [], takes: [foreign] });
    expect(taken.free).toEqual({ cpu: 1000, fpga: -2, 'max-tasks': 4 });
    expect(exchanged(taken, { gives: [foreign], takes: [] })).toEqual(accountWith(spec));
  });

  it('changes nothing of the account that it was given', () => {
    const task = holding('t1', everything);
    const before = exchanged(accountWith(spec), { gives: [], takes: [task] });
    const copy = structuredClone(before);
    exchanged(before, { gives: [task], takes: [holding('t2', everything), holding('t3', everything)] });
    expect(before).toEqual(copy);
  });

  it('counts exactly up to the largest amount there is', () => {
    const capacity = { cpu: Number.MAX_SAFE_INTEGER };
    const task = holding('t1', { resources: { cpu: Number.MAX_SAFE_INTEGER - 1 } });
    const account = exchanged(accountWith({ capacity }), { gives: [], takes: [task] });
    expect(account.free.cpu).toBe(1);
  });

  it.each(['constructor', 'toString', 'hasOwnProperty'])('takes a resource named %s for a resource', (name) => {
    const task = holding('t1', { resources: { [name]: 3 } });
    const empty = accountWith({ capacity: { [name]: 5 } });
    const taken = exchanged(empty, { gives: [], takes: [task] });
    expect(taken.free[name]).toBe(2);
    expect(exchanged(accountWith({}), { gives: [], takes: [task] }).free[name]).toBe(-3);
  });

  it('knows a task by its id, whatever objects inherit', () => {
    const named = holding('__proto__', everything);
    const account = exchanged(accountWith(spec), { gives: [], takes: [named] });
    expect(account.claims.get('core/0' as ClaimKey)).toBe('__proto__');
    expect(exchanged(account, { gives: [named], takes: [] })).toEqual(accountWith(spec));
  });
});
