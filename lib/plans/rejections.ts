import type { NodeId } from '../ids.ts';
import type { Marks, TrackerSettings } from '../nodes/pool.ts';
import { type EpochMs, type EpochSeconds, expiryAfter } from '../time.ts';

/** The refusals of a node inside its window. */
export interface RejectionWindow {
  readonly nodeId: NodeId;
  /** In no order: a clock may step back. */
  readonly times: readonly EpochMs[];
  /** Counted up by every write; 0: not stored. */
  readonly version: number;
  /** When the last of them leaves the window: DynamoDB may delete it after that. Readers go by the times. */
  readonly expiresAt: EpochSeconds;
}

/** Refusals kept in a window, however many there were: what is beyond changes no answer, and an item holds 400 KB. */
const MOST_TIMES = 20_000;

/** The times of `window` that lie inside it at `now`, both edges included. A time to come counts: the clock has stepped back. */
export function timesInside(
  window: RejectionWindow | undefined,
  now: EpochMs,
  { windowSeconds }: TrackerSettings,
): readonly EpochMs[] {
  return (window?.times ?? []).filter((time) => time >= now - windowSeconds * 1000);
}

/** How many refusals of the node lie inside the window at `now`: its score. */
export function scoreOf(window: RejectionWindow | undefined, now: EpochMs, settings: TrackerSettings): number {
  return timesInside(window, now, settings).length;
}

/** Marks at `now`: refilled at the rate, never more than the burst. A pool that never marked has all of them. */
export function marksAt(
  marks: Marks | undefined,
  now: EpochMs,
  { markRatePerSecond, markBurst }: TrackerSettings,
): number {
  if (!marks) return markBurst;
  const refilled = (Math.max(0, now - marks.at) / 1000) * markRatePerSecond;
  return Math.min(markBurst, marks.left + refilled);
}

/** Room for the rounding of a rate like 1/360: a mark is free at the very second in which it is due. */
const ROUNDING = 1e-9;

export interface Counted {
  readonly window: RejectionWindow;
  /** As they are afterwards; the same if none was taken. */
  readonly marks: Marks | undefined;
  /** `marked`: the node is to be made ineligible, its window is empty. `withheld`: it would be, but no mark is left. */
  readonly verdict: 'counted' | 'marked' | 'withheld';
  /** Refusals inside the window, this one included, before it was emptied. */
  readonly score: number;
}

/**
 * Counts one refusal of an eligible node at `now`. A node that reaches the threshold is marked if a mark is left; if none
 * is, its window stays, and it is asked again at its next refusal (hashicorp/nomad `plan_apply_node_tracker.go`, with the
 * window emptied and one mark a marking, where Nomad takes one for each further refusal).
 */
export function countRefusal(
  nodeId: NodeId,
  window: RejectionWindow | undefined,
  marks: Marks | undefined,
  now: EpochMs,
  settings: TrackerSettings,
): Counted {
  const times = [...timesInside(window, now, settings), now].slice(-MOST_TIMES);
  const version = (window?.version ?? 0) + 1;
  const expiresAt = expiryAfter(now, settings.windowSeconds + 1);
  const score = times.length;
  const longer: RejectionWindow = { nodeId, times, version, expiresAt };
  if (score < settings.threshold) return { window: longer, marks, verdict: 'counted', score };
  const left = marksAt(marks, now, settings);
  if (left < 1 - ROUNDING) return { window: longer, marks, verdict: 'withheld', score };
  return {
    window: { ...longer, times: [] },
    marks: { left: Math.max(0, left - 1), at: now },
    verdict: 'marked',
    score,
  };
}
