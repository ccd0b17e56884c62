import * as z from 'zod/mini';
import { nodeId } from '../lib/ids.ts';
import { type Marks, poolSettingsSchema } from '../lib/nodes/pool.ts';
import { countRefusal, type RejectionWindow, scoreOf } from '../lib/plans/rejections.ts';
import type { EpochMs } from '../lib/time.ts';
import { shaped } from './shape.ts';

const seconds = z.number();
const score = z.optional(z.int());

/** Strict: what stands beside an event is what is expected of it. */
const eventSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('reject'),
    t: seconds,
    nodeId,
    /** That many, evenly spaced. Default: one. */
    count: z._default(z.int().check(z.gte(1)), 1),
    everySeconds: z._default(seconds, 0),
    /** Whether it marks the node, or with `count` how often. */
    marks: z.optional(z.union([z.boolean(), z.int()])),
    score,
  }),
  z.strictObject({ type: z.literal('score'), t: seconds, nodeId, score }),
  z.strictObject({ type: z.literal('enable'), t: seconds, nodeId }),
]);
type WindowEvent = z.output<typeof eventSchema>;

const windowCaseSchema = z.object({ tracker: poolSettingsSchema.shape.tracker, timeline: z.array(eventSchema) });

/** Plays a case of kind `window` on the counting of refusals alone; what did not come as it expects. */
export function windowDifferences(content: unknown): string[] {
  const outcome = shaped(windowCaseSchema, content);
  if ('problems' in outcome) return outcome.problems.map((problem) => `not a case of kind window: ${problem}`);
  const { tracker, timeline } = outcome.data;
  const windows = new Map<string, RejectionWindow>();
  const ineligible = new Set<string>();
  let marks: Marks | undefined;

  /** Counts a refusal as it is counted of a node that is in the pool: if the node was eligible. Whether it marks the node. */
  const reject = (event: WindowEvent & { type: 'reject' }, now: EpochMs): boolean => {
    if (!tracker.enabled || ineligible.has(event.nodeId)) return false;
    const counted = countRefusal(event.nodeId, windows.get(event.nodeId), marks, now, tracker);
    windows.set(event.nodeId, counted.window);
    marks = counted.marks;
    if (counted.verdict === 'marked') ineligible.add(event.nodeId);
    return counted.verdict === 'marked';
  };

  const play = (event: WindowEvent): string[] => {
    if (event.type === 'enable') {
      ineligible.delete(event.nodeId);
      return [];
    }
    let now = epoch(event.t);
    let marked = 0;
    if (event.type === 'reject') {
      for (let nth = 0; nth < event.count; nth++) {
        now = epoch(event.t + nth * event.everySeconds);
        if (reject(event, now)) marked++;
      }
    }
    const expected = event.type === 'reject' ? event.marks : undefined;
    const came = typeof expected === 'boolean' ? marked > 0 : marked;
    const left = scoreOf(windows.get(event.nodeId), now, tracker);
    return [
      ...(expected === undefined || expected === came ? [] : [`expected marks ${expected}, came ${came}`]),
      ...(event.score === undefined || event.score === left ? [] : [`expected score ${event.score}, came ${left}`]),
    ];
  };

  return timeline.flatMap((event, at) =>
    play(event).map((problem) => `timeline[${at}] (${event.type} ${event.nodeId} at ${event.t} s): ${problem}`),
  );
}

/** A case's time in seconds as a time of ours. Some day in 2026, so that no time is negative whatever the case has. */
function epoch(seconds: number): EpochMs {
  return (Date.UTC(2026, 0, 1) + Math.round(seconds * 1000)) as EpochMs;
}
