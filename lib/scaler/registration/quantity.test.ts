import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amountOfQuantity } from './quantity.ts';

describe('a quantity of Kubernetes', () => {
  it.each([
    ['3920m', 'thousandths', 3920],
    ['4', 'thousandths', 4000],
    ['0.5', 'thousandths', 500],
    ['.25', 'thousandths', 250],
    ['5.', 'thousandths', 5000],
    ['1500u', 'thousandths', 1],
    ['999999n', 'thousandths', 0],
    ['+2', 'thousandths', 2000],
    ['15873352Ki', 'mebibytes', 15_501],
    ['15Gi', 'mebibytes', 15_360],
    ['1.5Gi', 'mebibytes', 1536],
    ['1Ti', 'mebibytes', 1_048_576],
    ['18242267924', 'mebibytes', 17_397],
    ['1G', 'mebibytes', 953],
    ['1e3', 'ones', 1000],
    ['12E6', 'ones', 12_000_000],
    ['1500e-3', 'ones', 1],
    ['2k', 'ones', 2000],
    ['110', 'ones', 110],
    ['0', 'ones', 0],
    ['1E', 'ones', Number.MAX_SAFE_INTEGER],
    ['8Ei', 'mebibytes', 8_796_093_022_208],
  ] as const)('%s is in %s, rounded down, %d', (quantity, unit, amount) => {
    expect(amountOfQuantity(quantity, unit)).toBe(amount);
  });

  it.each(['', '.', '-1', '1Kb', 'Gi', '1e', '1 Gi', '0x10', '1e999', 'NaN', '1.2.3', '１'])('is not %j', (text) => {
    expect(amountOfQuantity(text, 'ones')).toBeUndefined();
  });

  it('is exact where floating point is not', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 9_007_199_254_740_991n }), fc.nat(9), (thousandths, zeros) => {
        const digits = String(thousandths).padStart(4, '0');
        const decimal = `${digits.slice(0, -3)}.${digits.slice(-3)}${'0'.repeat(zeros)}`;
        expect(amountOfQuantity(decimal, 'thousandths')).toBe(Number(thousandths));
        expect(amountOfQuantity(`${thousandths}m`, 'thousandths')).toBe(Number(thousandths));
        expect(amountOfQuantity(`${thousandths}Mi`, 'mebibytes')).toBe(Number(thousandths));
        expect(amountOfQuantity(`${thousandths * 1024n}Ki`, 'mebibytes')).toBe(Number(thousandths));
      }),
    );
  });
});
