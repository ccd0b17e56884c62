import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { EpochMs } from '../../time.ts';
import { conditionEvents } from './cluster-events.ts';
import { type Condition, invalidStatus, type PoolStatus, unobservedStatus } from './status.ts';
import { isSameJson, statusJson } from './status-json.ts';

const NOW = Date.UTC(2027, 0, 1) as EpochMs;
const CONDITIONS: readonly Condition[] = [
  { type: 'Valid', status: 'True', reason: 'Accepted', message: '' },
  { type: 'AtTarget', status: 'False', reason: 'ScalingDown', message: 'm' },
  { type: 'TargetClamped', status: 'False', reason: 'WithinLimits', message: '' },
  { type: 'Degraded', status: 'True', reason: 'DrainBlocked', message: 'd' },
];
/** One of every field. */
const WHOLE: Required<PoolStatus> = {
  ...{ effectiveTarget: 3, targetSource: 'schedule', protectedServers: 1 },
  nextTransition: { at: NOW, target: { replicas: 4, source: 'override' } },
  nodes: { active: 1, pending: 2, draining: 3, held: 4, notReady: 5 },
  provider: { name: 'eks', desired: 1, min: 0, max: 2 },
  drains: [{ node: 'n', since: NOW, protectedServers: 1, gamePods: 2 }],
  pendingDeletions: [{ node: 'n', instance: 'i-1', since: NOW }],
  pendingIncrease: { count: 2, since: NOW },
  conditions: CONDITIONS,
  degraded: ['DrainBlocked'],
};

/** The schema of the status in the definition of the kind; with nothing beside what it lists, which the cluster would drop. */
function statusSchema(): object {
  const crd = parse(readFileSync(new URL('../../../deploy/kubernetes/crd.yaml', import.meta.url), 'utf8'));
  return closed(crd.spec.versions[0].schema.openAPIV3Schema.properties.status);
}

function closed(schema: Record<string, unknown>): Record<string, unknown> {
  const {
    type,
    properties,
    items,
    required,
    enum: values,
  } = schema as {
    [name: string]: unknown;
    properties?: Record<string, Record<string, unknown>>;
    items?: Record<string, unknown>;
  };
  const inner = Object.entries(properties ?? {}).map(([name, one]) => [name, closed(one)]);
  return {
    type,
    ...(properties ? { properties: Object.fromEntries(inner), additionalProperties: false } : {}),
    ...(items ? { items: closed(items) } : {}),
    ...(required ? { required } : {}),
    ...(values ? { enum: values } : {}),
  };
}

describe('a status', () => {
  test('is as the definition of the kind has it, to the last field: what that drops would be written every tick', () => {
    const validate = new Ajv({ allErrors: true }).compile(statusSchema());
    const stored = statusJson(WHOLE, { generation: 7, status: undefined }, NOW);
    validate(JSON.parse(JSON.stringify(stored)));
    expect(validate.errors ?? []).toEqual([]);
    const { degraded: _, conditions: __, ...fields } = WHOLE;
    const texts = JSON.parse(JSON.stringify(fields).replaceAll(String(NOW), '"2027-01-01T00:00:00.000Z"'));
    expect(stored).toMatchObject({ ...texts, observedGeneration: 7 });
    expect(stored.conditions.map(({ type }) => type)).toEqual(['Valid', 'AtTarget', 'TargetClamped', 'Degraded']);
  });

  test.each<[what: string, status: unknown]>([
    ['nothing', undefined],
    ['a text', 'x'],
    ['conditions that are none', { conditions: 'x' }],
    ['conditions without a type', { conditions: [null, {}, { type: 3 }] }],
    ['a condition whose time is none', { conditions: [{ type: 'Valid', status: 'True', lastTransitionTime: 5 }] }],
  ])('is written over %s', (_, status) => {
    const stored = statusJson(WHOLE, { generation: 1, status }, NOW);
    expect(stored.conditions.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(
      Array(4).fill('2027-01-01T00:00:00.000Z'),
    );
  });

  test('has messages of bounded length', () => {
    const message = 'x'.repeat(100_000);
    const conditions = [{ type: 'Valid', status: 'False', reason: 'InvalidSpec', message }] as const;
    expect(statusJson({ conditions }, { generation: 1, status: undefined }, NOW).conditions[0]?.message).toHaveLength(
      4_096,
    );
  });
});

describe('whether the pool is at its target', () => {
  const stateAfter = (status: PoolStatus, before?: object) => {
    const stored = statusJson(status, { generation: 1, status: before }, NOW);
    const { status: is, reason } = stored.conditions.find(({ type }) => type === 'AtTarget') ?? {};
    return { shown: `${is} ${reason}`, stored };
  };

  test('nobody knows of an object that is wrong, and the columns State and Health have its reason', () => {
    const { shown, stored } = stateAfter(invalidStatus('ProviderUnreachable', 'x'));
    expect(shown).toBe('Unknown ProviderUnreachable');
    expect(stored.conditions.find(({ type }) => type === 'Degraded')).toMatchObject({
      ...{ status: 'Unknown', reason: 'ProviderUnreachable' },
    });
    // Mended, but not seen yet: it is not wrong any more.
    expect(stateAfter(unobservedStatus('x'), stored).shown).toBe('Unknown ObservationFailed');
  });

  test('stays as it was seen last while the pool cannot be seen', () => {
    const { stored } = stateAfter(WHOLE);
    const { shown, stored: after } = stateAfter(unobservedStatus('x'), stored);
    expect(shown).toBe('False ScalingDown');
    expect(after.conditions.map(({ type }) => type).toSorted()).toEqual([
      ...['AtTarget', 'Degraded', 'TargetClamped', 'Valid'],
    ]);
    expect(stateAfter(unobservedStatus('x')).shown).toBe('Unknown ObservationFailed');
  });
});

test('what somebody outside has said stays on one line, and gives a terminal no orders', () => {
  const message = 'hook says:\n\u001b[31mred\u0000';
  const conditions = [{ type: 'Valid', status: 'False', reason: 'InvalidConfig', message }] as const;
  const object = { name: 'game', uid: 'u', generation: 1, createdAt: NOW, status: undefined };
  const told = 'hook says: \uFFFD[31mred\uFFFD';
  expect(statusJson({ conditions }, object, NOW).conditions[0]?.message).toBe(told);
  expect(conditionEvents({ conditions }, object, NOW)).toMatchObject([{ message: told }]);
});

test('a message that was written by hand, and is no text, is no reason to tell nothing', () => {
  const conditions = [{ type: 'Degraded', status: 'False', reason: 'AsExpected', message: '' }] as const;
  const status = { conditions: [{ type: 'Degraded', status: 'True', reason: 'X', message: { toString: 1 } }] };
  expect(conditionEvents({ conditions }, { name: 'game', uid: 'u', createdAt: NOW, status }, NOW)).toMatchObject([
    { reason: 'Recovered', message: 'not any more: ' },
  ]);
});

describe('two values are the same JSON', () => {
  test.each<[a: unknown, b: unknown, same: boolean]>([
    [{ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }, true],
    [{ a: undefined }, {}, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: 1 }, { b: 1 }, false],
    [[1, 2], [2, 1], false],
    [[1], [1, 2], false],
    [[], { length: 0 }, false],
    [[], {}, false],
    [null, {}, false],
    [1, '1', false],
    [{ a: 1 }, undefined, false],
  ])('%j and %j: %s', (a, b, same) => {
    expect(isSameJson(a, b)).toBe(same);
    expect(isSameJson(b, a)).toBe(same);
  });
});
