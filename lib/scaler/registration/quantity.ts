/** Quantities of Kubernetes, as k8s.io/apimachinery/pkg/api/resource has them. */

/** Powers of ten that a suffix stands for. */
const TENS: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** An `E` with digits after it is an exponent, one without is 10^18. */
const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(?:([KMGTPE]i)|[eE]([+-]?\d{1,2})|([numkMGTPE]?))$/;

/** What a whole amount counts: how many of them are one, or how many ones are one of them. */
const UNITS = {
  thousandths: { perOne: 1000n, ones: 1n },
  ones: { perOne: 1n, ones: 1n },
  mebibytes: { perOne: 1n, ones: 1024n ** 2n },
} as const;

/**
 * `quantity` (`3920m`, `15Gi`, `1e3`) in whole units, rounded down: what is not whole cannot be promised. At most the
 * largest safe integer. Undefined: it is no quantity, or below zero.
 */
export function amountOfQuantity(quantity: string, unit: keyof typeof UNITS): number | undefined {
  const match = QUANTITY.exec(quantity);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', binary, exponent, suffix = ''] = match;
  if (sign === '-' || whole + fraction === '') return undefined;
  const scale = binary !== undefined ? 0 : exponent !== undefined ? Number(exponent) : (TENS[suffix] ?? 0);
  const tens = scale - fraction.length;
  const factor = binary === undefined ? 1n : 1024n ** BigInt(BINARY.indexOf(binary) + 1);
  const { perOne, ones } = UNITS[unit];
  const above = BigInt(whole + fraction) * factor * perOne * 10n ** BigInt(Math.max(0, tens));
  const amount = above / (ones * 10n ** BigInt(Math.max(0, -tens)));
  return Number(amount > MOST ? MOST : amount);
}

const MOST = BigInt(Number.MAX_SAFE_INTEGER);
