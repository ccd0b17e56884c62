import { describe, expect, it } from 'vitest';
import type { Deed } from '../../lib/scaler/act/report.ts';
import type { ObservedNode, RegisteredNode } from '../../lib/scaler/observation.ts';
import { planRegistration } from '../../lib/scaler/registration/registration.ts';
import { type Fate, type FateView, fateOf, strangersOf } from '../../lib/scaler/registration/registration-fate.ts';
import { BERTH_LABELS, isMachineOf, registrarOf, specOf } from '../../lib/scaler/registration/registration-spec.ts';
import { BOUNDS } from '../../lib/settings.ts';
import { aGroup, aNode, aSnapshot } from './plain.ts';

/** What has become of a registered node, and what it is registered as, taken for itself. */

const OURS = registrarOf('prod', 'game');

/** n1 as it is registered, on i-1 unless `labels` say otherwise. */
function registered(fields: Partial<RegisteredNode> = {}): RegisteredNode {
  const labels = { [BERTH_LABELS.registeredBy]: OURS, [BERTH_LABELS.instance]: 'i-1', [BERTH_LABELS.uid]: 'uid-n1' };
  const state = { status: 'ready', drain: false, ineligible: false, revision: 1 } as const;
  return { nodeId: 'n1', capacity: {}, labels, ...state, ...fields };
}

/** The same of a provider that knows no instances. */
const bare = registered({ labels: { [BERTH_LABELS.uid]: 'uid-n1', [BERTH_LABELS.machine]: 'a' } });

function fate(one: RegisteredNode, nodes: readonly ObservedNode[], view: Partial<FateView> = {}): Fate {
  const nothing = { deeds: [], whereabouts: new Map(), ended: [] };
  return fateOf(one, { snapshot: aSnapshot({ nodes }), ...nothing, ...view });
}

describe('a node that is registered', () => {
  const deleted = (node: string): Deed => ({ kind: 'node-deleted', node });

  it('and is there has ended only if this tick deleted it', () => {
    expect(fate(registered(), [aNode('n1')])).toBe('elsewhere');
    expect(fate(registered(), [aNode('n1')], { deeds: [deleted('n1')] })).toBe('ended');
    expect(fate(registered(), [aNode('n1')], { deeds: [deleted('n2'), { kind: 'cordoned', node: 'n1' }] })).toBe(
      'elsewhere',
    );
  });

  it('has ended if its machine was, by this tick or an earlier one, whatever node that was of', () => {
    const ended: Deed = { kind: 'machine-ended', node: 'n7', instance: 'i-1' };
    expect(fate(registered(), [], { deeds: [ended] })).toBe('ended');
    expect(fate(registered(), [], { deeds: [{ ...ended, instance: 'i-7' }] })).toBe('unknown');
    expect(fate(bare, [], { ended: ['uid-n1'] })).toBe('ended');
  });

  it('has not ended with another machine of which no instance is known either', () => {
    expect(fate(bare, [], { deeds: [{ kind: 'machine-ended', node: 'n7' }] })).toBe('unknown');
  });

  it.each([
    ['Terminating', 'ended'],
    ['Terminated', 'ended'],
    ['InService', 'unsure'],
    ['Standby', 'unsure'],
    ['Detaching', 'unsure'],
    // A word that is not known says nothing for certain.
    ['Warmed:Terminating', 'unsure'],
  ])('and gone is, with its machine %s in the group, %s', (state, expected) => {
    const group = aGroup([], { instances: new Map([['i-1', state]]) });
    expect(fate(registered(), [], { group, whereabouts: new Map([['i-1', 'gone']]) })).toBe(expected);
  });

  it.each([
    ['gone', 'ended'],
    ['here', 'unsure'],
    ['elsewhere', 'unsure'],
  ] as const)('and gone is, with its machine %s, %s', (where, expected) => {
    expect(fate(registered(), [], { group: aGroup([]), whereabouts: new Map([['i-1', where]]) })).toBe(expected);
  });

  it('and whose name another machine has has ended where nobody knows better, and not where its own may run', () => {
    const other = aNode('n1', { uid: 'uid-other', providerId: '', machineId: 'b' });
    expect(fate(bare, [other])).toBe('ended');
    const taken = [aNode('n1', { uid: 'uid-other', providerId: 'aws:///eu-west-1a/i-9' })];
    const group = aGroup([], { instances: new Map([['i-1', 'Standby']]) });
    expect(fate(registered(), taken, { group })).toBe('unsure');
    expect(fate(registered(), taken)).toBe('ended');
  });
});

it('asked after are machines that are neither of the group nor those of a node that is there', () => {
  const labels = (instance: string) => ({ [BERTH_LABELS.instance]: instance });
  const all = [
    ...[registered(), registered({ nodeId: 'n2', labels: labels('i-2') }), registered({ nodeId: 'n3', labels: {} })],
    ...[registered({ nodeId: 'n4', labels: labels('i-4') }), registered({ nodeId: 'n5', labels: labels('i-5') })],
  ];
  const moved = aNode('n4', { uid: 'uid-other', providerId: 'aws:///eu-west-1a/i-9' });
  const snapshot = aSnapshot({ nodes: [aNode('n2'), moved] });
  expect(strangersOf(all, { snapshot, group: aGroup(['n1']) })).toEqual(['i-4', 'i-5']);
  expect(strangersOf(all, { snapshot })).toEqual(['i-1', 'i-4', 'i-5']);
});

describe('a node is registered with', () => {
  const spec = (fields: Partial<ObservedNode>) =>
    specOf({ node: aNode('n1', fields), drain: false }, 'eu', OURS, undefined);
  const foreign = (fields: Partial<ObservedNode>) =>
    Object.keys(spec(fields).labels ?? {}).filter((name) => !Object.values<string>(BERTH_LABELS).includes(name));

  it('the labels that fit, the first by name where there are too many', () => {
    const names = Array.from({ length: BOUNDS.labelsPerNode }, (_, at) => `l${String(at).padStart(3, '0')}`);
    const shuffled = [...names.slice(20), ...names.slice(0, 20).reverse()];
    const kept = foreign({ labels: Object.fromEntries(shuffled.map((name) => [name, '1'])) });
    expect(kept.length).toBeLessThan(names.length);
    expect(kept).toEqual(names.slice(0, kept.length));
  });

  it('no label that Berth could not store, and none of its own names from elsewhere', () => {
    const long = 'x'.repeat(BOUNDS.labelLength);
    const fits = { plain: 'a.B-c_1', empty: '', 'x/berth/': '1', [long]: long };
    const not = {
      '-begins': '1',
      'a b': '1',
      'v-blank': 'a b',
      [`${long}x`]: '1',
      'v-long': `${long}x`,
      'berth/other': '1',
    };
    expect(foreign({ labels: { ...fits, ...not } }).sort()).toEqual(Object.keys(fits).sort());
  });

  it('the amounts that can be read, and no word of others', () => {
    expect(spec({ allocatable: { cpu: '2', memory: 'much', 'x.io/y': '-1' } }).capacity).toEqual({ cpu: 2_000 });
  });

  it('as much of what tells its machine as a label has room for, by which it is known again', () => {
    const machineId = 'm'.repeat(BOUNDS.labelLength + 9);
    const { labels = {} } = spec({ providerId: '', machineId });
    expect(labels[BERTH_LABELS.machine]).toHaveLength(BOUNDS.labelLength);
    const again = aNode('n1', { uid: 'uid-again', providerId: '', machineId });
    expect(isMachineOf(registered({ labels }), again)).toBe(true);
  });
});

describe('a node that is to leave', () => {
  const planOf = (seen: RegisteredNode, of: Fate) =>
    planRegistration({ pool: 'eu', registrar: OURS, present: [], registered: [seen], fateOf: () => of });

  it.each([
    [{ drain: false, status: 'ready' }, 'drained and down first'],
    [{ drain: true, status: 'ready' }, 'drained and down first'],
    [{ drain: false, status: 'down' }, 'drained and down first'],
    [{ drain: true, status: 'down' }, 'removed, unless tasks hold it'],
  ] as const)('and of which nobody can tell is, being %o, %s', (state, expected) => {
    const { removals, entries, keeps } = planOf(registered(state), 'unknown');
    if (expected === 'drained and down first') {
      expect({ removals, keeps }).toEqual({ removals: [], keeps: true });
      expect(entries).toMatchObject([{ spec: { drain: true, status: 'down' } }]);
    } else {
      expect(entries).toEqual([]);
      expect(removals).toMatchObject([{ force: false }]);
    }
  });
});

it.each([
  ['prod/other', 'was registered by prod/other and'],
  [undefined, 'was registered by somebody else and'],
])('of a node that %s registered it is told whose it is', (by, told) => {
  const seen = registered({ labels: by === undefined ? {} : { [BERTH_LABELS.registeredBy]: by } });
  const present = [{ node: aNode('n1'), drain: false }];
  const plan = planRegistration({ pool: 'eu', registrar: OURS, present, registered: [seen], fateOf: () => 'ended' });
  expect(plan).toMatchObject({ removals: [], entries: [], findings: [{ message: expect.stringContaining(told) }] });
});
