import { describe, expect, it } from 'vitest';
import { accountWith, holding, placementOf } from '../../test/support/builders.ts';
import { type Account, exchanged } from './account.ts';
import { type Misfit, misfitOf } from './fit.ts';
import type { NodeSpecInput } from './node.ts';

type Wants = NonNullable<Parameters<typeof placementOf>[1]>;

/** Why the tasks `asked`, named t1, t2, …, do not fit a node of `spec` that holds what `held` says, under h1, h2, …. */
function misfit(
  spec: Partial<NodeSpecInput>,
  asked: readonly Wants[],
  held: readonly Wants[] = [],
): Misfit | undefined {
  const tasks = held.map((wants, at) => placementOf(`h${at + 1}`, wants));
  return misfitOf(accountWith(spec, tasks), {
    gives: [],
    takes: asked.map((wants, at) => holding(`t${at + 1}`, wants)),
  });
}
const code = (...args: Parameters<typeof misfit>) => misfit(...args)?.code;

const port = (value: number, ignoreCollision = false, ip = 'a') => ({ ip, value, ignoreCollision });
const volume = (mode: 'single-writer' | 'multi-writer' | 'reader-only', source = 'data') => ({ source, mode });

describe('amounts', () => {
  it.each(['cpu', 'memory', 'disk', 'gpu-milli/0', 'constructor'])('of %s fit exactly, and not by one more', (name) => {
    const spec = { capacity: { [name]: 10 } };
    expect(misfit(spec, [{ resources: { [name]: 10 } }])).toBeUndefined();
    expect(misfit(spec, [{ resources: { [name]: 6 } }, { resources: { [name]: 4 } }])).toBeUndefined();
    expect(misfit(spec, [{ resources: { [name]: 6 } }], [{ resources: { [name]: 4 } }])).toBeUndefined();
    const short = { code: name, message: `7 of ${name} asked for, 6 of 10 free` };
    expect(misfit(spec, [{ resources: { [name]: 7 } }], [{ resources: { [name]: 4 } }])).toEqual(short);
    expect(code(spec, [{ resources: { [name]: 6 } }, { resources: { [name]: 5 } }])).toBe(name);
  });

  it('of a resource that the node does not have are none', () => {
    expect(misfit({}, [{ resources: { fpga: 1 } }])).toEqual({
      code: 'fpga',
      message: '1 of fpga asked for, 0 of 0 free',
    });
    expect(misfit({}, [{ resources: { fpga: 0 } }])).toBeUndefined();
  });

  it('that add up past the safe integers do not fit the largest node', () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(misfit({ capacity: { cpu: most } }, [{ resources: { cpu: most } }])).toBeUndefined();
    expect(
      code(
        { capacity: { cpu: most } },
        Array.from({ length: 90 }, () => ({ resources: { cpu: most } })),
      ),
    ).toBe('cpu');
    expect(code({ capacity: { cpu: most } }, [{ resources: { cpu: most } }, { resources: { cpu: 1 } }])).toBe('cpu');
  });

  it('that are not asked for are not looked at: a node that lost capacity takes what needs none of it', () => {
    const account: Account = { ...accountWith({ capacity: { cpu: 10 } }), free: { cpu: -5, 'max-tasks': 3 } };
    const asking = (resources: Record<string, number>) =>
      misfitOf(account, { gives: [], takes: [holding('t1', { resources })] })?.code;
    expect(asking({ cpu: 0 })).toBeUndefined();
    expect(asking({})).toBeUndefined();
    expect(asking({ cpu: 1 })).toBe('cpu');
  });

  it('that are given back are there for what is taken', () => {
    const before = accountWith({ capacity: { cpu: 10 }, maxTasks: 1 }, [placementOf('h1', { resources: { cpu: 8 } })]);
    const takes = (cpu: number) => [holding('t1', { resources: { cpu } })];
    const gives = [holding('h1', { resources: { cpu: 8 } })];
    expect(misfitOf(before, { gives: [], takes: takes(3) })?.code).toBe('cpu');
    expect(misfitOf(before, { gives, takes: takes(10) })).toBeUndefined();
    expect(misfitOf(before, { gives, takes: takes(11) })?.code).toBe('cpu');
  });
});

describe('the number of tasks', () => {
  it('fits exactly, and not by one more', () => {
    expect(misfit({ maxTasks: 3 }, [{}, {}], [{}])).toBeUndefined();
    expect(misfit({ maxTasks: 3 }, [{}, {}, {}], [{}])).toEqual({
      code: 'max-tasks',
      message: '3 more tasks asked for, 2 of at most 3 are left',
    });
  });
});

describe('cores', () => {
  const spec = { cores: [0, 1] };

  it('that are listed and free fit', () => {
    expect(misfit(spec, [{ cores: [0] }, { cores: [1] }])).toBeUndefined();
  });

  it('claimed twice are refused, naming the task that holds them', () => {
    expect(misfit(spec, [{ cores: [1] }], [{ cores: [0, 1] }])).toEqual({
      code: 'cores',
      message: 'core 1 is held by task h1',
    });
    expect(misfit(spec, [{ cores: [1] }, { cores: [0, 1] }])).toEqual({
      code: 'cores',
      message: 'core 1 is held by task t1',
    });
    expect(misfit(spec, [{ cores: [0, 0] }])).toEqual({ code: 'cores', message: 'core 0 is held by task t1' });
  });

  it('that the node does not list are refused', () => {
    expect(misfit(spec, [{ cores: [2] }])).toEqual({
      code: 'cores',
      message: 'core 2 is not among the cores that the node lists',
    });
    expect(code({}, [{ cores: [0] }])).toBe('cores');
  });

  it('claimed twice are refused before cpu, and not listed after it', () => {
    const full = { ...spec, capacity: { cpu: 1 } };
    expect(code(full, [{ cores: [7], resources: { cpu: 2 } }, { cores: [7] }])).toBe('cores');
    expect(code(full, [{ cores: [7], resources: { cpu: 2 } }])).toBe('cpu');
    expect(code(full, [{ cores: [7], resources: { cpu: 1, memory: 1 } }])).toBe('cores');
  });
});

describe('ports', () => {
  const spec = { addresses: [{ ip: 'a', reservedPorts: '22' }, { ip: 'b' }], reservedPorts: '53' };

  it('collide on one address, naming the holder, and not on two', () => {
    expect(misfit(spec, [{ ports: [port(80)] }], [{ ports: [port(80)] }])).toEqual({
      code: 'port-collision',
      message: 'port 80 on a is held by task h1',
    });
    expect(misfit(spec, [{ ports: [port(80, false, 'b')] }], [{ ports: [port(80)] }])).toBeUndefined();
    expect(misfit(spec, [{ ports: [port(81)] }], [{ ports: [port(80)] }])).toBeUndefined();
  });

  it('collide within one task and between two of the same plan', () => {
    expect(misfit(spec, [{ ports: [port(80), port(80)] }])?.message).toBe('port 80 on a is held by task t1');
    expect(misfit(spec, [{ ports: [port(80)] }, { ports: [port(80)] }])?.message).toBe(
      'port 80 on a is held by task t1',
    );
  });

  it('that the node reserves count as held, on their address or on all', () => {
    expect(misfit(spec, [{ ports: [port(22)] }])).toEqual({
      code: 'port-collision',
      message: 'port 22 on a is reserved by the node',
    });
    expect(misfit(spec, [{ ports: [port(22, false, 'b')] }])).toBeUndefined();
    expect(['a', 'b', 'c'].map((ip) => code(spec, [{ ports: [port(53, false, ip)] }]))).toEqual(
      Array(3).fill('port-collision'),
    );
  });

  it('pass with ignoreCollision of their own, whoever holds them', () => {
    expect(misfit(spec, [{ ports: [port(80, true)] }], [{ ports: [port(80)] }])).toBeUndefined();
    expect(misfit(spec, [{ ports: [port(22, true)] }])).toBeUndefined();
    expect(misfit(spec, [{ ports: [port(80), port(80, true)] }])).toBeUndefined();
    expect(misfit(spec, [{ ports: [port(80)] }, { ports: [port(80, true)] }])).toBeUndefined();
  });

  it('collide although the holder ignores collisions, since only the later claim can let itself pass', () => {
    expect(misfit(spec, [{ ports: [port(80)] }], [{ ports: [port(80, true)] }])?.message).toBe(
      'port 80 on a is held by task h1',
    );
    expect(misfit(spec, [{ ports: [port(80, true), port(80)] }])?.message).toBe('port 80 on a is held by task t1');
    expect(code(spec, [{ ports: [port(22, true)] }, { ports: [port(22)] }])).toBe('port-collision');
  });

  it('are held by a task that passed the holder when the holder leaves, and do not pass to another with it', () => {
    const [holder, passer] = [placementOf('h1', { ports: [port(80)] }), placementOf('h2', { ports: [port(80, true)] })];
    const account = accountWith(spec, [holder, passer]);
    const asking = (ignoreCollision: boolean) => [holding('t1', { ports: [port(80, ignoreCollision)] })];
    const gives = [holding('h1', { ports: [port(80)] })];
    const collision = { code: 'port-collision', message: 'port 80 on a is held by task h2' };
    expect(misfitOf(account, { gives, takes: asking(false) })).toEqual(collision);
    expect(misfitOf(exchanged(account, { gives, takes: [] }), { gives: [], takes: asking(false) })).toEqual(collision);
    expect(misfitOf(account, { gives, takes: asking(true) })).toBeUndefined();
    const all = [...gives, holding('h2', { ports: [port(80, true)] })];
    expect(misfitOf(account, { gives: all, takes: asking(false) })).toBeUndefined();
    // Of several it is the one who has it alone that a message names.
    expect(misfitOf(account, { gives: [], takes: asking(false) })?.message).toBe('port 80 on a is held by task h1');
  });

  it.each([0, 65_535])('reach to %d', (value) => {
    expect(misfit(spec, [{ ports: [port(value)] }])).toBeUndefined();
    expect(code(spec, [{ ports: [port(value)] }], [{ ports: [port(value)] }])).toBe('port-collision');
  });

  it('are told apart on addresses with colons and slashes', () => {
    const ip = 'fe80::1/64';
    expect(code({ addresses: [{ ip, reservedPorts: '80' }] }, [{ ports: [port(80, false, ip)] }])).toBe(
      'port-collision',
    );
    expect(code({ addresses: [{ ip, reservedPorts: '1-100' }] }, [{ ports: [port(80, false, ip)] }])).toBe(
      'port-collision',
    );
  });
});

describe('devices', () => {
  const spec = { devices: [{ id: 'gpu-0' }, { id: 'gpu-1', healthy: false }] };

  it('that are healthy and free fit', () => {
    expect(misfit(spec, [{ devices: ['gpu-0'] }])).toBeUndefined();
  });

  it('that are not listed, or ill, are unavailable', () => {
    expect(misfit(spec, [{ devices: ['gpu-2'] }])).toEqual({
      code: 'device-unavailable',
      message: 'device gpu-2 is not listed by the node',
    });
    expect(misfit(spec, [{ devices: ['gpu-1'] }])).toEqual({
      code: 'device-unavailable',
      message: 'device gpu-1 is unhealthy, or listed no more',
    });
  });

  it('that somebody has are oversubscribed, naming the holder', () => {
    const message = (holder: string) => ({
      code: 'device-oversubscribed',
      message: `device gpu-0 is held by task ${holder}`,
    });
    expect(misfit(spec, [{ devices: ['gpu-0'] }], [{ devices: ['gpu-0'] }])).toEqual(message('h1'));
    expect(misfit(spec, [{ devices: ['gpu-0'] }, { devices: ['gpu-0'] }])).toEqual(message('t1'));
    expect(misfit(spec, [{ devices: ['gpu-0', 'gpu-0'] }])).toEqual(message('t1'));
  });

  it('are called unavailable before oversubscribed', () => {
    expect(code(spec, [{ devices: ['gpu-0', 'gpu-0', 'gpu-2'] }])).toBe('device-unavailable');
  });
});

describe('volumes', () => {
  const modes = ['single-writer', 'multi-writer', 'reader-only'] as const;

  it.each(modes.flatMap((held) => modes.map((asked) => [held, asked] as const)))('%s beside %s', (held, asked) => {
    const fits = held !== 'single-writer' && asked !== 'single-writer';
    const expected = (holder: string) =>
      fits
        ? undefined
        : {
            code: 'volume-conflict',
            message: `volume data is held by task ${holder}, and one of the two claims it as single-writer`,
          };
    expect(misfit({}, [{ volumes: [volume(asked)] }], [{ volumes: [volume(held)] }])).toEqual(expected('h1'));
    expect(misfit({}, [{ volumes: [volume(held)] }, { volumes: [volume(asked)] }])).toEqual(expected('t1'));
    expect(misfit({}, [{ volumes: [volume(held), volume(asked)] }])).toEqual(expected('t1'));
    expect(misfit({}, [{ volumes: [volume(asked, 'other')] }], [{ volumes: [volume(held)] }])).toBeUndefined();
  });

  it('are free again when the last that shares them leaves, and not before', () => {
    const shares = (task: string) => holding(task, { volumes: [volume('multi-writer')] });
    const writer = { gives: [], takes: [holding('t1', { volumes: [volume('single-writer')] })] };
    const two = exchanged(accountWith({}), { gives: [], takes: [shares('h1'), shares('h2')] });
    const one = exchanged(two, { gives: [shares('h2')], takes: [] });
    expect(misfitOf(one, writer)?.code).toBe('volume-conflict');
    expect(misfitOf(one, { ...writer, gives: [shares('h1')] })).toBeUndefined();
  });
});

describe('the first rule that fails', () => {
  /** What breaks each rule, in the order of the specification. */
  const broken: readonly (readonly [code: string, wants: Wants])[] = [
    ['cores', { cores: [0, 0] }],
    ['cpu', { resources: { cpu: 2 } }],
    ['cores', { cores: [9] }],
    ['memory', { resources: { memory: 2 } }],
    ['disk', { resources: { disk: 2 } }],
    ['Alpha', { resources: { Alpha: 2 } }],
    ['alpha', { resources: { alpha: 2 } }],
    ['beta', { resources: { beta: 2 } }],
    ['max-tasks', {}],
    ['port-collision', { ports: [port(22)] }],
    ['device-unavailable', { devices: ['d1'] }],
    ['device-oversubscribed', { devices: ['d0', 'd0'] }],
    ['volume-conflict', { volumes: [volume('single-writer'), volume('reader-only')] }],
  ];
  const spec = (maxTasks: number) => ({
    capacity: { cpu: 1, memory: 1, disk: 1, Alpha: 1, alpha: 1, beta: 1 },
    cores: [0],
    devices: [{ id: 'd0' }],
    reservedPorts: '22',
    maxTasks,
  });

  it.each(broken.map(([name], at) => [at + 1, name] as const))('is told: rule %d, %s', (number) => {
    const from = broken.slice(number - 1);
    const limited = from.some(([name]) => name === 'max-tasks');
    // One task for each rule that is broken, the last rule's first.
    const asked = from
      .filter(([name]) => name !== 'max-tasks')
      .map(([, wants]) => wants)
      .reverse();
    expect(code(spec(limited ? asked.length - 1 : asked.length), asked)).toBe(from[0]?.[0]);
  });

  it('is none for a task that keeps them all', () => {
    const wants = {
      resources: { cpu: 1, memory: 1, disk: 1, Alpha: 1, alpha: 1, beta: 1 },
      cores: [0],
      devices: ['d0'],
      ports: [port(23)],
      volumes: [volume('single-writer')],
    };
    expect(misfit(spec(1), [wants])).toBeUndefined();
  });
});
