import { describe, expect, it } from 'vitest';
import { BOUNDS, RESULTS } from '../settings.ts';
import { checkPlan } from './check-plan.ts';

const at = { serviceId: 'web', nodeId: 'n1' };
const placement = { taskId: 't1', ...at, slot: 1 };
const plan = { planId: 'p1', pool: 'prod' };
const placing = (wants: object) => ({ ...plan, placements: [{ ...placement, ...wants }] });

function problems(input: unknown, group?: string): string[] {
  const checked = checkPlan(input, group);
  return 'plan' in checked ? [] : checked.problems.map(({ path, message }) => `${path}: ${message}`);
}

const ID =
  'a text of 1 to 128 characters, letters, digits and _ . : / + = , ~ - only, beginning with a letter, a digit or _';
const QUANTITY = 'a whole number from 0 to 9007199254740991';
const UNKNOWN = 'unknown field: take it out, or check its spelling';

describe('a plan', () => {
  it('may leave out everything but its id and its pool', () => {
    expect(checkPlan(plan)).toEqual({
      plan: { ...plan, priority: 50, snapshotIndex: 0, allAtOnce: false, placements: [], stops: [], preemptions: [] },
    });
  });

  it('has the defaults of its entries filled in', () => {
    const input = {
      ...plan,
      placements: [{ ...placement, ports: [{ ip: 'a', value: 80 }] }],
      stops: [{ taskId: 't2', ...at }],
      preemptions: [{ taskId: 't3', ...at }],
    };
    expect(checkPlan(input)).toMatchObject({
      plan: {
        placements: [
          {
            ...placement,
            resources: {},
            ports: [{ ip: 'a', value: 80, label: '', ignoreCollision: false }],
            cores: [],
            devices: [],
            volumes: [],
            jobIteration: 0,
          },
        ],
        stops: [{ taskId: 't2', ...at, desiredState: 'shutdown' }],
        preemptions: [{ taskId: 't3', ...at }],
      },
    });
  });

  it('may say everything, as the specification has it', () => {
    const whole = {
      apiVersion: 'berth/v1',
      kind: 'Plan',
      planId: '01JD8Z7Q9K',
      pool: 'prod',
      evalId: 'e1',
      priority: 50,
      snapshotIndex: 1234,
      allAtOnce: false,
      notAfter: '2027-01-01T00:00:00Z',
      placements: [
        {
          taskId: 't1',
          serviceId: 'web',
          slot: 3,
          nodeId: 'n1',
          resources: { cpu: 500, memory: 256, disk: 300, 'gpu-milli/0': 460 },
          ports: [{ ip: '10.0.0.5', value: 8080, label: 'http', ignoreCollision: false }],
          cores: [0],
          devices: ['nvidia/gpu/1080ti/gpu-0'],
          volumes: [{ source: 'data', mode: 'single-writer' }],
          jobIteration: 0,
        },
      ],
      stops: [{ taskId: 't2', serviceId: 'web', slot: 2, nodeId: 'n1', desiredState: 'remove' }],
      preemptions: [{ taskId: 't3', serviceId: 'batch', slot: 7, nodeId: 'n1', preemptedBy: 't1' }],
    };
    expect(checkPlan(whole, 'prod')).toEqual({ plan: whole });
  });

  it('is not changed by being checked', () => {
    const input = placing({ resources: { cpu: 1 } });
    const copy = structuredClone(input);
    checkPlan(input);
    expect(input).toEqual(copy);
  });

  it('shares no default with another', () => {
    const first = checkPlan(placing({}));
    if ('plan' in first) {
      (first.plan.stops as unknown[]).push('x');
      Object.assign(first.plan.placements[0]?.resources ?? {}, { cpu: 9 });
    }
    expect(checkPlan(placing({}))).toMatchObject({ plan: { stops: [], placements: [{ resources: {} }] } });
  });

  it('may be of more entries than one transaction holds', () => {
    const placements = Array.from({ length: 5000 }, (_, slot) => ({ taskId: `t${slot}`, ...at, slot }));
    expect(problems({ ...plan, placements })).toEqual([]);
  });

  it.each([
    '2027-01-01T00:00:00Z',
    '2027-01-01T00:00:00.123456Z',
    '2027-01-01T00:00:00+02:00',
    '2028-02-29T23:59:59-11:30',
  ])('may be of no use after %s', (notAfter) => {
    expect(problems({ ...plan, notAfter })).toEqual([]);
    expect(Date.parse(notAfter)).not.toBeNaN();
  });
});

describe('what is wrong with a plan', () => {
  it.each([
    [{ ...plan, pool: undefined }, `pool: expected ${ID}, it is missing`],
    [{ ...plan, pool: 'a#b' }, `pool: expected ${ID}, got "a#b"`],
    [{ ...plan, evalId: '' }, `evalId: expected ${ID}, got ""`],
    [{ ...plan, planId: 'x'.repeat(129) }, `planId: expected ${ID}, got "${'x'.repeat(59)}…"`],
    [{ ...plan, apiVersion: 'berth/v2' }, 'apiVersion: expected "berth/v1", got "berth/v2"'],
    [{ ...plan, kind: 'Node' }, 'kind: expected "Plan", got "Node"'],
    [{ ...plan, priority: -1 }, 'priority: expected a whole number from 0 to 32767, got -1'],
    [{ ...plan, priority: '50' }, 'priority: expected a whole number from 0 to 32767, got "50"'],
    [{ ...plan, snapshotIndex: 1.5 }, `snapshotIndex: expected ${QUANTITY}, got 1.5`],
    [{ ...plan, allAtOnce: 'true' }, 'allAtOnce: expected true or false, got "true"'],
    [{ ...plan, allAtOnce: null }, 'allAtOnce: expected true or false, got null'],
    [
      { ...plan, notAfter: 1798761600 },
      'notAfter: expected a time with a zone, as in 2027-01-01T00:00:00Z, got 1798761600',
    ],
    [
      { ...plan, notAfter: '2027-01-01T00:00:00' },
      'notAfter: expected a time with a zone, as in 2027-01-01T00:00:00Z, got "2027-01-01T00:00:00"',
    ],
    [
      { ...plan, notAfter: '2027-02-29T00:00:00Z' },
      'notAfter: expected a time with a zone, as in 2027-01-01T00:00:00Z, got "2027-02-29T00:00:00Z"',
    ],
    [{ ...plan, placements: {} }, 'placements: expected a list, got an object'],
    [{ ...plan, stops: null }, 'stops: expected a list, got null'],
    [{ ...plan, preemptions: ['t1'] }, 'preemptions[0]: expected an object, got "t1"'],
    [{ ...plan, placement: [] }, `placement: ${UNKNOWN}`],
    [placing({ resources: { cpu: -1 } }), `placements[0].resources.cpu: expected ${QUANTITY}, got -1`],
    [placing({ resources: { cpu: '500' } }), `placements[0].resources.cpu: expected ${QUANTITY}, got "500"`],
    [placing({ resources: { cpu: 0.1 } }), `placements[0].resources.cpu: expected ${QUANTITY}, got 0.1`],
    [
      placing({ resources: { memory: 9_007_199_254_740_992 } }),
      `placements[0].resources.memory: expected ${QUANTITY}, got 9007199254740992`,
    ],
    [placing({ slot: -1 }), 'placements[0].slot: expected a whole number from 0 to 9007199254740991, got -1'],
    [placing({ slot: null }), 'placements[0].slot: expected a whole number from 0 to 9007199254740991, got null'],
    [
      placing({ ports: [{ ip: 'a', value: 65_536 }] }),
      'placements[0].ports[0].value: expected a whole number from 0 to 65535, got 65536',
    ],
    [
      placing({ ports: [{ ip: '', value: 1 }] }),
      'placements[0].ports[0].ip: expected a text of 1 to 45 characters, got ""',
    ],
    [placing({ ports: [{ ip: 'a', value: 1, lable: 'x' }] }), `placements[0].ports[0].lable: ${UNKNOWN}`],
    [placing({ cores: [-1] }), 'placements[0].cores[0]: expected a whole number from 0 to 65535, got -1'],
    [placing({ devices: [''] }), 'placements[0].devices[0]: expected a text of 1 to 128 characters, got ""'],
    [
      placing({ volumes: [{ source: 'v', mode: 'writer' }] }),
      'placements[0].volumes[0].mode: expected one of single-writer, multi-writer, reader-only, got "writer"',
    ],
    [placing({ jobIteration: -1 }), `placements[0].jobIteration: expected ${QUANTITY}, got -1`],
    [
      { ...plan, stops: [{ taskId: 't', ...at, desiredState: 'running' }] },
      'stops[0].desiredState: expected one of shutdown, remove, got "running"',
    ],
    [
      { ...plan, preemptions: [{ taskId: 't', ...at, preemptedBy: 'a b' }] },
      `preemptions[0].preemptedBy: expected ${ID}, got "a b"`,
    ],
  ])('is said with its path: %#', (input, problem) => {
    expect(problems(input)).toEqual([problem]);
  });

  it('is said of all of it at once', () => {
    const input = {
      planId: 'p1',
      pool: 7,
      extra: 1,
      placements: [
        { taskId: 't1', serviceId: 'web', resources: { cpu: -1, 'max-tasks': 1 } },
        { ...placement, slot: 'x' },
      ],
      stops: [{ taskId: 't1', ...at }],
      preemptions: [{ ...at }],
    };
    expect(problems(input).map((problem) => problem.slice(0, problem.indexOf(':')))).toEqual([
      'pool',
      'extra',
      'placements[0].nodeId',
      'placements[0].resources.cpu',
      'placements[0].resources.max-tasks',
      'placements[1].slot',
      'preemptions[0].taskId',
      'placements[1].taskId',
      'stops[0].taskId',
    ]);
  });

  it.each([
    ['ports', BOUNDS.portsPerTask, (n: number) => ({ ip: 'a', value: n })],
    ['cores', BOUNDS.coresPerTask, (n: number) => n],
    ['devices', BOUNDS.devicesPerTask, (n: number) => `d${n}`],
    ['volumes', BOUNDS.volumesPerTask, (n: number) => ({ source: `v${n}`, mode: 'reader-only' })],
  ])('is a list of more %s than %d', (list, most, item) => {
    const of = (count: number) => placing({ [list]: Array.from({ length: count }, (_, n) => item(n)) });
    expect(problems(of(most))).toEqual([]);
    expect(problems(of(most + 1))).toEqual([
      `placements[0].${list}: expected at most ${most} entries, got a list of ${most + 1}`,
    ]);
  });

  it('is more resources than a task may have', () => {
    const of = (count: number) =>
      placing({ resources: Object.fromEntries(Array.from({ length: count }, (_, n) => [`r${n}`, 1])) });
    expect(problems(of(BOUNDS.resourcesPerTask))).toEqual([]);
    expect(problems(of(BOUNDS.resourcesPerTask + 1))).toEqual([
      'placements[0].resources: expected at most 32 names, got 33',
    ]);
  });
});

describe('a task', () => {
  it.each([
    ['placements', 'placements'],
    ['placements', 'stops'],
    ['placements', 'preemptions'],
    ['stops', 'stops'],
    ['stops', 'preemptions'],
    ['preemptions', 'preemptions'],
  ])('may not stand in %s and in %s', (one, other) => {
    const lists =
      one === other ? { [one]: [placement, { ...placement, slot: 2 }] } : { [one]: [placement], [other]: [placement] };
    const again = one === other ? `${one}[1]` : `${other}[0]`;
    expect(problems({ ...plan, ...lists })).toEqual([
      `${again}.taskId: task t1 stands in the plan already, at ${one}[0].taskId`,
    ]);
  });

  it('may be called as every object is called', () => {
    const named = (taskId: string) => ({ ...placement, taskId });
    expect(problems({ ...plan, placements: ['__proto__', 'constructor', 'toString'].map(named) })).toEqual([]);
    expect(problems({ ...plan, placements: ['__proto__', '__proto__'].map(named) })).toHaveLength(1);
  });
});

describe('the message group', () => {
  it('is the pool of the plan', () => {
    expect(problems(plan, 'prod')).toEqual([]);
    expect(problems(plan, 'test')).toEqual(['pool: expected test, the message group that the plan came in, got prod']);
  });

  it('is told of beside whatever else is wrong', () => {
    expect(problems({ ...plan, more: 1 }, 'test')).toEqual([
      `more: ${UNKNOWN}`,
      'pool: expected test, the message group that the plan came in, got prod',
    ]);
  });

  it('is not compared with what can be no pool', () => {
    expect(problems({ ...plan, pool: 'a b' }, 'prod')).toEqual([`pool: expected ${ID}, got "a b"`]);
  });
});

describe('the problems', () => {
  it('are counted to a limit, however many entries are wrong', () => {
    const bad = Array.from({ length: BOUNDS.entriesPerList }, () => ({}));
    const found = problems({ ...plan, placements: bad, stops: bad, preemptions: bad });
    expect(found).toHaveLength(RESULTS.maxProblems + 1);
    expect(found.at(-1)).toMatch(/^: and more/);
    const repeated = Array.from({ length: 1000 }, () => placement);
    expect(problems({ ...plan, placements: repeated })).toHaveLength(RESULTS.maxProblems + 1);
  });

  it.each(['placements', 'stops', 'preemptions'])(
    'of a list of %s that is too long are that it is too long',
    (list) => {
      const entries = Array.from({ length: BOUNDS.entriesPerList + 1 }, () => ({}));
      expect(problems({ ...plan, [list]: entries })).toEqual([
        `${list}: expected at most ${BOUNDS.entriesPerList} entries, got a list of ${BOUNDS.entriesPerList + 1}`,
      ]);
    },
  );
});
