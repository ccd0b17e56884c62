import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Numbers that look random and are the same for the same seed, on every machine. */
export interface Random {
  /** From 0, included, to 1, excluded. */
  fraction(): number;
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
}

export function seededRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed);
  return {
    fraction: () => uniformFloat64(generator),
    integer: (min, max) => uniformInt(generator, min, max),
  };
}

/** One of `choices`, each as likely as its weight says. */
export function weighted<T extends { readonly weight: number }>(random: Random, choices: readonly [T, ...T[]]): T {
  const total = choices.reduce((sum, { weight }) => sum + weight, 0);
  let left = random.fraction() * total;
  let chosen = choices[0];
  for (const choice of choices) {
    chosen = choice;
    left -= choice.weight;
    if (left < 0) break;
  }
  return chosen;
}

/** A number whose logarithm is normally distributed about that of `median`: what lifetimes of tasks look like. */
export function lognormal(random: Random, median: number, sigma: number): number {
  // Box and Muller's transform; 1 - fraction() is never 0.
  const radius = Math.sqrt(-2 * Math.log(1 - random.fraction()));
  return median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * random.fraction()));
}

/** The same items in another order, each order as likely (Fisher and Yates). */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const result = [...items];
  for (let at = result.length - 1; at > 0; at -= 1) {
    const other = random.integer(0, at);
    [result[at], result[other]] = [result[other] as T, result[at] as T];
  }
  return result;
}
