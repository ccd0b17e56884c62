import { expect, test } from 'vitest';
import { valuesAt, withValueAt } from './json-path.ts';

const OBJECT = {
  metadata: { annotations: { 'a.b/c': 'x' } },
  status: {
    ports: [{ port: 1 }, { port: 2 }],
    conditions: [
      { type: 'Ready', status: 'False' },
      { type: 'Valid', status: 'True' },
    ],
  },
};

test.each<[string, unknown[]]>([
  ['.status.ports[0].port', [1]],
  ['.status.ports[*].port', [1, 2]],
  ['.status.ports[2].port', []],
  ['.status.conditions[?(@.type=="Valid")].status', ['True']],
  [".metadata.annotations['a.b/c']", ['x']],
  ['.spec.replicas', []],
])('%s', (path, values) => {
  expect(valuesAt(OBJECT, path)).toEqual(values);
});

test('what is not understood is an error, not an empty column', () => {
  expect(() => valuesAt(OBJECT, '.status..port')).toThrow('not understood at "..port"');
});

test('a value is set in a copy, with the members on its way', () => {
  const before = { spec: { a: 1 } };
  expect(withValueAt(before, '.spec.b.c', 2)).toEqual({ spec: { a: 1, b: { c: 2 } } });
  expect(before).toEqual({ spec: { a: 1 } });
});
