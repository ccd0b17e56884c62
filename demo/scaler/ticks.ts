import type { Tick } from './deeds.ts';

/**
 * What became of a tick, of which each is exactly one. held: it did not run, since a killed function still had the lease.
 * killed: in the middle of it. blind: it could not see the cluster. twin: it was delivered twice. idle, busy: all others, that
 * changed nothing and something.
 */
const TICK_KINDS = ['idle', 'busy', 'twin', 'blind', 'killed', 'held'] as const;
type TickKind = (typeof TICK_KINDS)[number];

function kindOf({ kubernetes, events, changes }: Tick): TickKind {
  if (kubernetes === 0) return 'held';
  if (events !== 'none') return events;
  return changes.length === 0 ? 'idle' : 'busy';
}

type TicksByKind = Readonly<Record<TickKind, readonly Tick[]>>;

export function ticksByKind(ticks: readonly Tick[]): TicksByKind {
  const of = TICK_KINDS.map((kind) => [kind, ticks.filter((tick) => kindOf(tick) === kind)]);
  return Object.fromEntries(of) as TicksByKind;
}

/** Each tick is of one kind: those of all kinds together are `all`. */
export type TickCounts = Readonly<Record<TickKind, number>> & {
  readonly all: number;
  readonly requests: { readonly idle: Requests; readonly busy: Requests };
};

/** Requests of one tick: the median, and the most in brackets. */
export interface Requests {
  readonly kubernetes: Figures;
  readonly aws: Figures;
  readonly dynamodb: Figures;
}

interface Figures {
  readonly median: number;
  readonly most: number;
}

export function tickCountsOf(ticks: readonly Tick[]): TickCounts {
  const { idle, busy, twin, blind, killed, held } = ticksByKind(ticks);
  return {
    all: ticks.length,
    idle: idle.length,
    busy: busy.length,
    twin: twin.length,
    blind: blind.length,
    killed: killed.length,
    held: held.length,
    requests: { idle: requestsOf(idle), busy: requestsOf(busy) },
  };
}

function requestsOf(ticks: readonly Tick[]): Requests {
  const figures = (key: 'kubernetes' | 'aws' | 'dynamodb'): Figures => {
    const sorted = ticks.map((tick) => tick[key]).sort((a, b) => a - b);
    return { median: sorted[Math.floor(sorted.length / 2)] ?? 0, most: sorted.at(-1) ?? 0 };
  };
  return { kubernetes: figures('kubernetes'), aws: figures('aws'), dynamodb: figures('dynamodb') };
}
