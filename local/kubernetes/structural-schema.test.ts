import { describe, expect, test } from 'vitest';
import { prune, type Schema, violations } from './structural-schema.ts';

const SCHEMA: Schema = {
  type: 'object',
  required: ['spec'],
  properties: {
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      required: ['replicas'],
      properties: {
        replicas: { type: 'integer', format: 'int32', minimum: 0, maximum: 10 },
        provider: { type: 'string', enum: ['auto', 'eks'], default: 'auto' },
        config: { type: 'object', maxProperties: 1, additionalProperties: { type: 'string', maxLength: 3 } },
        address: { type: 'string', pattern: '^a+$' },
        start: { type: 'string', format: 'date-time' },
        list: {
          type: 'array',
          maxItems: 1,
          items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
};

describe('a violation is told with its field', () => {
  test.each<[string, object, string, string]>([
    ['missing', {}, 'spec.replicas', 'Required value'],
    [
      'type',
      { replicas: 'x' },
      'spec.replicas',
      'Invalid value: "string": spec.replicas in body must be of type integer: "string"',
    ],
    [
      'minimum',
      { replicas: -1 },
      'spec.replicas',
      'Invalid value: -1: spec.replicas in body should be greater than or equal to 0',
    ],
    [
      'maximum',
      { replicas: 11 },
      'spec.replicas',
      'Invalid value: 11: spec.replicas in body should be less than or equal to 10',
    ],
    [
      'enum',
      { replicas: 1, provider: 'x' },
      'spec.provider',
      'Unsupported value: "x": supported values: "auto", "eks"',
    ],
    [
      'pattern',
      { replicas: 1, address: 'b' },
      'spec.address',
      `Invalid value: "b": spec.address in body should match '^a+$'`,
    ],
    [
      'format',
      { replicas: 1, start: 'now' },
      'spec.start',
      'Invalid value: "now": spec.start in body must be of type date-time: "now"',
    ],
    ['length', { replicas: 1, config: { a: 'long' } }, 'spec.config.a', 'Too long: may not be more than 3 bytes'],
    ['members', { replicas: 1, config: { a: '', b: '' } }, 'spec.config', 'Too many: 2: must have at most 1 items'],
    [
      'items',
      { replicas: 1, list: [{ name: '' }, { name: '' }] },
      'spec.list',
      'Too many: 2: must have at most 1 items',
    ],
    ['item', { replicas: 1, list: [{}] }, 'spec.list[0].name', 'Required value'],
  ])('%s', (_, spec, field, message) => {
    expect(violations({ spec }, SCHEMA)).toEqual([expect.objectContaining({ field, message })]);
  });

  test('several of them all', () => {
    expect(violations({ spec: { replicas: 'x', provider: 1 } }, SCHEMA).length).toBeGreaterThan(1);
  });
});

test('unknown fields are taken out and named, defaults put in', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'X',
    metadata: { anything: 1 },
    spec: { replicas: 1, typo: 2, config: { any: 'x' }, list: [{ name: 'a', more: 1 }], open: { x: 1 } },
    other: true,
  };
  expect(prune(object, SCHEMA)).toEqual({
    object: {
      apiVersion: 'v1',
      kind: 'X',
      metadata: { anything: 1 },
      spec: { replicas: 1, provider: 'auto', config: { any: 'x' }, list: [{ name: 'a' }], open: { x: 1 } },
    },
    unknown: ['spec.typo', 'spec.list[0].more', 'other'],
  });
});
