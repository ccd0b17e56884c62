import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, sha256 } from './hash.ts';

/** `value` with the names of every object in another order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, inner]) => [name, shuffled(inner)]),
  );
}

describe('canonicalJson', () => {
  it('is one text for equal values, whatever the order of their names', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'medium' }), (value) => {
        expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it('loses nothing, so that values that differ have texts that differ', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'medium' }), (value) => {
        const json = JSON.stringify(value);
        expect(JSON.parse(canonicalJson(JSON.parse(json)))).toEqual(JSON.parse(json));
      }),
    );
  });

  it.each([
    ['{"b":1,"a":[{"d":1,"c":2}]}', '{"a":[{"c":2,"d":1}],"b":1}'],
    ['[3,1,2]', '[3,1,2]'],
    ['{"__proto__":{"b":1,"a":2}}', '{"__proto__":{"a":2,"b":1}}'],
    ['null', 'null'],
  ])('of %s is %s', (json, canonical) => {
    expect(canonicalJson(JSON.parse(json))).toBe(canonical);
  });
});

describe('sha256', () => {
  it('is that of FIPS 180-4, over UTF-8', () => {
    expect(sha256('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(sha256('é').toString('hex')).toBe('4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c');
  });
});
