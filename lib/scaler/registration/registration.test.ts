import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodeSpecSchema } from '../../nodes/node.ts';
import type { EpochMs } from '../../time.ts';
import type { ObservedNode, RegisteredNode } from '../observation.ts';
import { digestOf, planRegistration, type RegistrationPlan } from './registration.ts';
import type { Fate } from './registration-fate.ts';
import {
  BERTH_LABELS,
  compareMachine,
  differs,
  isMachineOf,
  type PresentNode,
  registrarOf,
  specOf,
} from './registration-spec.ts';

const OURS = registrarOf('prod', 'game');
const NAMES = ['n1', 'n2', 'n3', 'n4'];

const node = (fields: Partial<ObservedNode> = {}): ObservedNode => ({
  name: 'n1',
  uid: 'uid-1',
  resourceVersion: '1',
  providerId: 'aws:///eu-west-1a/i-1',
  labels: {},
  annotations: {},
  taints: [],
  unschedulable: false,
  ready: true,
  createdAt: 0 as EpochMs,
  deleting: false,
  ineligible: false,
  allocatable: {},
  ...fields,
});

const machine = fc.constantFrom('1', '2');
const quantity = fc.constantFrom('0', '3920m', '2', '15Gi', '1e3', 'nonsense', '-1');

const present: fc.Arbitrary<PresentNode> = fc.record({
  node: fc
    .record({
      name: fc.constantFrom(...NAMES),
      machine,
      known: fc.boolean(),
      ready: fc.boolean(),
      labels: fc.dictionary(fc.string({ maxLength: 300 }), fc.string({ maxLength: 300 }), { maxKeys: 3 }),
      allocatable: fc.dictionary(fc.constantFrom('cpu', 'memory', 'ephemeral-storage', 'a.b/c', 'max-tasks'), quantity),
    })
    .map(({ machine: id, known, ...fields }) =>
      node({ ...fields, uid: `uid-${id}`, providerId: known ? `aws:///z/i-${id}` : 'metal://m' }),
    ),
  drain: fc.boolean(),
});

const registered: fc.Arbitrary<RegisteredNode> = fc
  .record({
    nodeId: fc.constantFrom(...NAMES),
    by: fc.constantFrom(OURS, OURS, OURS, 'prod/other', undefined),
    machine,
    known: fc.boolean(),
    drained: fc.boolean(),
    capacity: fc.dictionary(fc.constantFrom('cpu', 'gpu'), fc.nat(9)),
    status: fc.constantFrom('ready', 'down', 'disconnected', 'initializing'),
    drain: fc.boolean(),
    ineligible: fc.boolean(),
    revision: fc.nat(9),
  })
  .map(({ by, machine: id, known, drained, ...rest }) => ({
    ...rest,
    labels: {
      ...(by === undefined ? {} : { [BERTH_LABELS.registeredBy]: by }),
      [BERTH_LABELS.uid]: `uid-${id}`,
      ...(known ? { [BERTH_LABELS.instance]: `i-${id}` } : {}),
      ...(drained ? { [BERTH_LABELS.drained]: OURS } : {}),
    },
  })) as fc.Arbitrary<RegisteredNode>;

const byName = <T>(arbitrary: fc.Arbitrary<T>, selector: (one: T) => string) =>
  fc.uniqueArray(arbitrary, { selector, maxLength: NAMES.length });
const presents = byName(present, (one) => one.node.name);
const registereds = byName(registered, ({ nodeId }) => nodeId);
const fates = fc.dictionary(
  fc.constantFrom(...NAMES),
  fc.constantFrom<Fate>('ended', 'unsure', 'unknown', 'elsewhere'),
);

function plan(nodes: readonly PresentNode[], there: Iterable<RegisteredNode>, fate: Record<string, Fate>) {
  return planRegistration({
    pool: 'eu',
    registrar: OURS,
    present: nodes,
    registered: there,
    fateOf: ({ nodeId }) => fate[nodeId] ?? 'ended',
  });
}

/** What the pool is once `changes` are made, no task being in the way. */
function applied(there: readonly RegisteredNode[], { removals, entries }: RegistrationPlan): RegisteredNode[] {
  const after = new Map(there.map((one) => [one.nodeId, one]));
  for (const { seen } of removals) after.delete(seen.nodeId);
  for (const { spec: input, seen } of entries) {
    const spec = nodeSpecSchema.parse(input);
    expect(after.get(spec.nodeId)?.revision).toBe(seen?.revision);
    after.set(spec.nodeId, {
      nodeId: spec.nodeId,
      capacity: spec.capacity,
      labels: spec.labels,
      status: spec.status ?? 'ready',
      drain: spec.drain ?? seen?.drain ?? false,
      ineligible: seen?.ineligible ?? false,
      revision: (seen?.revision ?? 0) + 1,
    });
  }
  return [...after.values()];
}

const isOurs = ({ labels }: RegisteredNode) => labels[BERTH_LABELS.registeredBy] === OURS;
const isDone = ({ removals, entries }: RegistrationPlan) => removals.length + entries.length === 0;

describe('registering the nodes of a pool', () => {
  it('comes from any state to what is there, and has nothing more to do then', () => {
    fc.assert(
      fc.property(presents, registereds, fates, (nodes, before, fate) => {
        // One that belongs to another pool drains first, and goes then.
        const once = applied(before, plan(nodes, before, fate));
        const twice = applied(once, plan(nodes, once, fate));
        expect(isDone(plan(nodes, twice, fate))).toBe(true);
        for (const one of nodes) {
          const stored = twice.find(({ nodeId }) => nodeId === one.node.name);
          if (!stored || !isOurs(stored)) {
            expect(before.some((other) => other.nodeId === one.node.name && !isOurs(other))).toBe(true);
            continue;
          }
          if (!isMachineOf(stored, one.node)) {
            // What had its name before may run still.
            expect(fate[one.node.name]).toBe('unsure');
            expect(stored).toMatchObject({ drain: true, status: 'down' });
            continue;
          }
          expect(differs(specOf(one, 'eu', OURS, stored), stored)).toBe(false);
          if (one.drain) expect(stored.drain).toBe(true);
        }
        const names = new Set(nodes.map((one) => one.node.name));
        for (const one of twice) {
          if (names.has(one.nodeId) || !isOurs(one)) continue;
          expect(fate[one.nodeId]).toBe('unsure');
          expect(one).toMatchObject({ drain: true, status: 'down' });
        }
      }),
    );
  });

  it('changes nothing of what somebody else registered, and no eligibility', () => {
    fc.assert(
      fc.property(presents, registereds, fates, (nodes, before, fate) => {
        const { removals, entries } = plan(nodes, before, fate);
        const touched = new Set([
          ...removals.map(({ seen }) => seen.nodeId),
          ...entries.map(({ spec }) => String(spec.nodeId)),
        ]);
        for (const one of before) if (!isOurs(one)) expect(touched).not.toContain(one.nodeId);
        for (const { spec } of entries) expect(spec).not.toHaveProperty('eligibility');
      }),
    );
  });

  it('orphans tasks of machines alone that are at their end', () => {
    fc.assert(
      fc.property(presents, registereds, fates, (nodes, before, fate) => {
        for (const { seen, force } of plan(nodes, before, fate).removals) {
          expect(force).toBe((fate[seen.nodeId] ?? 'ended') === 'ended');
        }
      }),
    );
  });

  it('ends no drain that it has not begun', () => {
    fc.assert(
      fc.property(presents, registereds, (nodes, before) => {
        for (const { spec, seen } of plan(nodes, before, {}).entries) {
          if (seen?.drain && spec.drain === false) expect(seen.labels[BERTH_LABELS.drained]).toBeDefined();
        }
      }),
    );
  });

  it('tells of a name that is no id of Berth', () => {
    const name = `${'a'.repeat(128)}.b`;
    const { entries, findings } = plan([{ node: node({ name }), drain: false }], [], {});
    expect(entries).toEqual([]);
    expect(findings).toMatchObject([{ reason: 'RegistrationFailed', message: expect.stringContaining(name) }]);
  });
});

describe('what a node is registered as', () => {
  const spec = (fields: Partial<ObservedNode>) => specOf({ node: node(fields), drain: false }, 'eu', OURS, undefined);

  it('has the names and units of Berth', () => {
    const allocatable = { cpu: '3920m', memory: '15Gi', 'ephemeral-storage': '18242267924', pods: '58', 'x.io/y': '2' };
    expect(spec({ allocatable }).capacity).toEqual({ cpu: 3920, memory: 15_360, disk: 17_397, pods: 58, 'x.io/y': 2 });
  });

  it('is within the bounds of Berth, whatever the cluster has', () => {
    const many = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`l.io/${at}`, '1']));
    const labels = { ...many, ['k'.repeat(257)]: '', long: 'v'.repeat(257), 'berth/registered-by': 'forged' };
    const allocatable = { ...many, [`a.io/${'n'.repeat(63)}`]: '1', 'max-tasks': '1', cpu: '1' };
    const parsed = nodeSpecSchema.parse(spec({ labels, allocatable }));
    expect(parsed.labels).toMatchObject({ [BERTH_LABELS.registeredBy]: OURS });
    expect(parsed.capacity).toMatchObject({ cpu: 1000 });
  });

  it('says by its instance which machine it is, and where there is none by uid and machine', () => {
    const seen = (labels: Record<string, string>) => ({ labels }) as unknown as RegisteredNode;
    const aws = seen({ [BERTH_LABELS.instance]: 'i-1', [BERTH_LABELS.uid]: 'u' });
    expect(isMachineOf(aws, node({ uid: 'other' }))).toBe(true);
    expect(isMachineOf(aws, node({ uid: 'u', providerId: 'aws:///z/i-2' }))).toBe(false);
    const metal = seen({ [BERTH_LABELS.uid]: 'u' });
    expect(isMachineOf(metal, node({ uid: 'u', providerId: '' }))).toBe(true);
    expect(compareMachine(metal, node({ uid: 'other', providerId: '', machineId: 'm' }))).toBe('unclear');
    const known = seen(spec({ uid: 'u', providerId: 'metal://m', machineId: 'm' }).labels as Record<string, string>);
    expect(compareMachine(known, node({ uid: 'other', providerId: '', machineId: 'm' }))).toBe('same');
    expect(compareMachine(known, node({ uid: 'other', providerId: '', machineId: 'n' }))).toBe('other');
    expect(compareMachine(known, node({ uid: 'other', providerId: '' }))).toBe('unclear');
  });
});

it('a digest is of names and machines, in whatever order, and of nothing else', () => {
  const of = (...nodes: readonly ObservedNode[]) => digestOf(nodes.map((one) => ({ node: one, drain: false })));
  const [a, b] = [node(), node({ name: 'n2', providerId: 'aws:///z/i-2' })];
  expect(of(a, b)).toBe(of(b, node({ ready: false, resourceVersion: '2' })));
  expect(of(a, b)).not.toBe(of(a));
  expect(of(a)).not.toBe(of(node({ providerId: 'aws:///z/i-9' })));
});
