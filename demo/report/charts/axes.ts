import type { Axis, Tick } from './chart.ts';
import { type Interval, multiples, roundStep, roundUp } from './scale.ts';

interface Amounts {
  readonly label: string;
  /** The most that is drawn. */
  readonly most: number;
  readonly text: (value: number) => string;
  /** The axis does not go further, if what is drawn does not. */
  readonly limit?: number;
  /** Steps between two ticks are no smaller. */
  readonly least?: number;
}

/** From zero to a round number that is not below the most. */
export function amountAxis({ label, most, text, limit = Number.POSITIVE_INFINITY, least = 0 }: Amounts): Axis {
  const step = Math.max(roundStep(most, 5), least);
  const domain: Interval = [0, Math.max(most, Math.min(limit, roundUp(most, step)))];
  return { label, domain, ticks: ticksOf(domain, step, text) };
}

/** A tick at each multiple of `step` in the domain. */
export function ticksOf(domain: Interval, step: number, text: (value: number) => string): Tick[] {
  return multiples(domain, step).map((at) => ({ at, text: text(at) }));
}

/** The largest of some values that are not below zero; 0 of none. */
export function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}
