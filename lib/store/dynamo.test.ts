import { describe, expect, it } from 'vitest';
import { marshall, unmarshall } from './dynamo.ts';

describe('marshall', () => {
  // Names of resources and labels are the user's: one that the SDK takes for a sign of a class held up a pool for good.
  it.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'length'])('takes a field named %s', (name) => {
    const values = { resources: { cpu: 500, [name]: 1 } };
    expect(unmarshall(marshall(values))).toEqual(values);
  });

  it('leaves out what is undefined', () => {
    expect(marshall({ a: 1, b: undefined })).toEqual({ a: { N: '1' } });
  });

  it('refuses numbers that are not safe integers', () => {
    expect(() => marshall({ a: 2 ** 53 })).toThrow(/9007199254740992/);
  });
});

describe('unmarshall', () => {
  // DynamoDB's numbers have up to 38 digits and reach to 10^125. At the first two of these the SDK throws.
  it.each(['1E+30', '12345678901234567890.5', '18446744073709551615', '-9007199254740993'])(
    'gives for %s what is no safe integer, and stops nothing',
    (text) => {
      const { n } = unmarshall({ n: { N: text } });
      expect(n).toBe(Number(text));
      expect(Number.isSafeInteger(n)).toBe(false);
    },
  );
});
