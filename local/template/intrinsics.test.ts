import { describe, expect, test } from 'vitest';
import { resolveIntrinsics, type Scope } from './intrinsics.ts';

const scope: Scope = {
  ref: (name) => ({ Table: 'table-name', 'AWS::Region': 'eu-central-1', Count: 3 })[name],
  attribute: (logicalId, attribute) => (logicalId === 'Table' && attribute === 'Arn' ? 'arn:table' : undefined),
  imported: (name) => ({ 'stack:export': 'imported' })[name],
};

const resolve = (value: unknown) => resolveIntrinsics(value, scope, 'Stack/Thing');

describe('intrinsic functions', () => {
  test.each([
    { value: 'plain', expected: 'plain' },
    { value: { a: [1, true, null] }, expected: { a: [1, true, null] } },
    { value: { Ref: 'Table' }, expected: 'table-name' },
    { value: { Ref: 'AWS::Region' }, expected: 'eu-central-1' },
    { value: { 'Fn::GetAtt': ['Table', 'Arn'] }, expected: 'arn:table' },
    { value: { 'Fn::GetAtt': 'Table.Arn' }, expected: 'arn:table' },
    { value: { 'Fn::ImportValue': 'stack:export' }, expected: 'imported' },
    { value: { 'Fn::Join': ['-', ['a', { Ref: 'Table' }, 1]] }, expected: 'a-table-name-1' },
    { value: { 'Fn::Split': ['-', { Ref: 'Table' }] }, expected: ['table', 'name'] },
    { value: { 'Fn::Select': [1, { 'Fn::Split': ['-', { Ref: 'Table' }] }] }, expected: 'name' },
    { value: { 'Fn::Select': ['0', ['a', 'b']] }, expected: 'a' },
    {
      value: { 'Fn::Sub': `in \${AWS::Region}: \${Table}, \${Table.Arn}` },
      expected: 'in eu-central-1: table-name, arn:table',
    },
    { value: { 'Fn::Sub': [`\${Own}/\${Table}`, { Own: { Ref: 'Count' } }] }, expected: '3/table-name' },
    { value: { 'Fn::Sub': `\${!Table}` }, expected: `\${Table}` },
    { value: [{ key: { Ref: 'Table' } }], expected: [{ key: 'table-name' }] },
    // Two keys: not a function, although one is named like it.
    { value: { Ref: 'x', other: 1 }, expected: { Ref: 'x', other: 1 } },
  ])('$value', ({ value, expected }) => {
    expect(resolve(value)).toEqual(expected);
  });

  test.each([
    { value: { list: [{ Ref: 'Nothing' }] }, message: 'Stack/Thing.list[0]: the local engine has no Ref to Nothing' },
    {
      value: { 'Fn::GetAtt': ['Table', 'StreamArn'] },
      message: 'Stack/Thing: the local engine has no Table.StreamArn',
    },
    { value: { 'Fn::ImportValue': 'other' }, message: 'has no export other' },
    { value: { 'Fn::Sub': `\${Nothing}` }, message: 'has no Nothing' },
    { value: { 'Fn::Select': [5, ['a']] }, message: 'has no element 5' },
    { value: { 'Fn::Join': ['', [{}]] }, message: 'expected a text, found {}' },
    { value: { 'Fn::Join': ['', 'text'] }, message: 'expected a list, found "text"' },
    { value: { deep: { 'Fn::Cidr': [] } }, message: 'Stack/Thing.deep: Fn::Cidr is not known to the local engine' },
  ])('$value is an error: $message', ({ value, message }) => {
    expect(() => resolve(value)).toThrow(message);
  });
});
