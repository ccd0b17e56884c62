import { describe, expect, it } from 'vitest';
import { problemsOf } from '../schema.ts';
import { BOUNDS } from '../settings.ts';
import { nodeSpecSchema } from './node.ts';

const node = { nodeId: 'n1', pool: 'prod', capacity: { cpu: 4000 } };

function problems(input: unknown): string[] {
  const outcome = nodeSpecSchema.safeParse(input);
  return outcome.success ? [] : problemsOf(outcome.error, input).map(({ path, message }) => `${path}: ${message}`);
}

describe('a node that is registered', () => {
  it('may leave out everything but its name, its pool and its capacity', () => {
    expect(nodeSpecSchema.parse(node)).toEqual({
      ...node,
      cores: [],
      devices: [],
      addresses: [],
      reservedPorts: '',
      labels: {},
    });
  });

  it('may say everything', () => {
    const whole = {
      ...node,
      status: 'initializing',
      eligibility: 'ineligible',
      drain: true,
      cores: [0, 65_535],
      devices: [{ id: 'nvidia/gpu/1080ti/gpu-0', healthy: false }],
      addresses: [{ ip: '10.0.0.5', reservedPorts: '80-90' }, { ip: 'fe80::1' }],
      reservedPorts: '22,9100',
      maxTasks: 0,
      labels: { rack: 'r1', note: '' },
    };
    expect(nodeSpecSchema.parse(whole)).toEqual(whole);
  });

  it.each([
    [undefined, ': expected an object, it is missing'],
    [
      { ...node, capacity: undefined },
      'capacity: expected an object of amounts by resource name, {"cpu": 500}, it is missing',
    ],
    [{ ...node, capacity: { cpu: -1 } }, 'capacity.cpu: expected a whole number from 0 to 9007199254740991, got -1'],
    [{ ...node, status: 'gone' }, 'status: expected one of initializing, ready, disconnected, down, got "gone"'],
    [{ ...node, drain: 'yes' }, 'drain: expected true or false, got "yes"'],
    [{ ...node, cores: [65_536] }, 'cores[0]: expected a whole number from 0 to 65535, got 65536'],
    [{ ...node, devices: ['gpu'] }, 'devices[0]: expected an object, got "gpu"'],
    [
      { ...node, reservedPorts: '80-' },
      'reservedPorts: ports and ranges of ports from 0 to 65535 are expected, as in "22,80-90"',
    ],
    [
      { ...node, addresses: [{ ip: 'a', reservedPorts: '70000' }] },
      'addresses[0].reservedPorts: ports and ranges of ports from 0 to 65535 are expected, as in "22,80-90"',
    ],
    [{ ...node, maxTasks: 1_000_001 }, 'maxTasks: expected a whole number from 0 to 1000000, got 1000001'],
    [{ ...node, labels: { rack: 1 } }, 'labels.rack: expected a text of 0 to 256 characters, got 1'],
    [{ ...node, free: {} }, 'free: unknown field: take it out, or check its spelling'],
  ])('is refused, saying where and why: %#', (input, problem) => {
    expect(problems(input)).toEqual([problem]);
  });

  it('has a bounded number of labels, and none named __proto__', () => {
    const labels = Object.fromEntries(Array.from({ length: BOUNDS.labelsPerNode + 1 }, (_, at) => [`l${at}`, 'x']));
    expect(problems({ ...node, labels })).toEqual([
      `labels: expected at most ${BOUNDS.labelsPerNode} names, got ${BOUNDS.labelsPerNode + 1}`,
    ]);
    expect(problems({ ...node, labels: JSON.parse('{"__proto__": "x"}') })).toHaveLength(1);
  });
});
