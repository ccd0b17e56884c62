import * as z from 'zod/mini';
import { type NodeId, nodeId } from '../lib/ids.ts';
import { type Marks, poolSettingsSchema, type TrackerSettings } from '../lib/nodes/pool.ts';
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

/** What counts the refusals of nodes of one pool. */
export interface RefusalCounter {
  /** Has a plan refused by the node at `now`. Whether that made the node ineligible. */
  reject(node: NodeId, now: EpochMs): Promise<boolean>;
  /** Refusals inside the node's window at `now`. */
  score(node: NodeId, now: EpochMs): Promise<number>;
  /** An operator makes the node eligible again. */
  enable(node: NodeId, now: EpochMs): Promise<void>;
}

/** Plays a case of kind `window` on what `counterFor` makes for its nodes and settings; what did not come as it expects. */
export async function windowDifferences(
  content: unknown,
  counterFor: (tracker: TrackerSettings, nodes: readonly NodeId[]) => RefusalCounter | Promise<RefusalCounter>,
): Promise<string[]> {
  const outcome = shaped(windowCaseSchema, content);
  if ('problems' in outcome) return outcome.problems.map((problem) => `not a case of kind window: ${problem}`);
  const { tracker, timeline } = outcome.data;
  const counter = await counterFor(tracker, [...new Set(timeline.map((event) => event.nodeId))]);
  const differences: string[] = [];
  for (const [at, event] of timeline.entries()) {
    for (const problem of await play(event, counter)) {
      differences.push(`timeline[${at}] (${event.type} ${event.nodeId} at ${event.t} s): ${problem}`);
    }
  }
  return differences;
}

async function play(event: WindowEvent, counter: RefusalCounter): Promise<string[]> {
  let now = epoch(event.t);
  if (event.type === 'enable') {
    await counter.enable(event.nodeId, now);
    return [];
  }
  let marked = 0;
  if (event.type === 'reject') {
    for (let nth = 0; nth < event.count; nth++) {
      now = epoch(event.t + nth * event.everySeconds);
      if (await counter.reject(event.nodeId, now)) marked++;
    }
  }
  const expected = event.type === 'reject' ? event.marks : undefined;
  const came = typeof expected === 'boolean' ? marked > 0 : marked;
  const left = await counter.score(event.nodeId, now);
  return [
    ...(expected === undefined || expected === came ? [] : [`expected marks ${expected}, came ${came}`]),
    ...(event.score === undefined || event.score === left ? [] : [`expected score ${event.score}, came ${left}`]),
  ];
}

/** The counting alone, as the applier does it for a node that is in the pool. */
export function pureCounter(tracker: TrackerSettings): RefusalCounter {
  const windows = new Map<NodeId, RejectionWindow>();
  const ineligible = new Set<NodeId>();
  let marks: Marks | undefined;
  return {
    async reject(node, now) {
      if (!tracker.enabled || ineligible.has(node)) return false;
      const counted = countRefusal(node, windows.get(node), marks, now, tracker);
      windows.set(node, counted.window);
      marks = counted.marks;
      if (counted.verdict === 'marked') ineligible.add(node);
      return counted.verdict === 'marked';
    },
    score: async (node, now) => scoreOf(windows.get(node), now, tracker),
    async enable(node) {
      ineligible.delete(node);
    },
  };
}

/** A case's time in seconds as a time of ours. Some day in 2026, so that no time is negative whatever the case has. */
function epoch(seconds: number): EpochMs {
  return (Date.UTC(2026, 0, 1) + Math.round(seconds * 1000)) as EpochMs;
}
