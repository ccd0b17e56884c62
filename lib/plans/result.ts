import * as z from 'zod/mini';
import { evalId, nodeId, planId, taskId } from '../ids.ts';

export const PLAN_STATUSES = ['applied', 'partial', 'rejected', 'invalid', 'expired'] as const;
export type PlanStatus = (typeof PLAN_STATUSES)[number];

const count = z.int();

/** What became of a plan. Written once, in the transaction that gives the plan its effect, and never changed. */
export const planResultSchema = z.strictObject({
  planId,
  /** The message group that the plan came in. */
  pool: z.string(),
  evalId: z.optional(evalId),
  /**
   * `applied`: all of it. `partial`: all but the nodes in `rejectedNodes`. `rejected`: nothing. `invalid`: nothing, for
   * the reasons in `problems`. `expired`: nothing, it came after its `notAfter`.
   */
  status: z.enum(PLAN_STATUSES),
  /** The pool's index of the commit that holds this result; 0 if there was no commit of a pool. */
  index: count,
  /** 0: nothing to refresh. Otherwise the index at which the worker must look before it plans again. */
  refreshIndex: count,
  committed: z.strictObject({ placements: count, stops: count, preemptions: count }),
  rejectedNodes: z.array(
    z.strictObject({
      nodeId,
      /**
       * The first rule that failed: node-not-found, node-down, node-disconnected, node-not-ready, task-conflict,
       * node-ineligible, cores, max-tasks, port-collision, device-unavailable, device-oversubscribed, volume-conflict, or the
       * name of the resource that was short (cpu, memory, disk, or the user's own). `discarded`: none, an operator gave the
       * plan up before this node was committed.
       */
      code: z.string(),
      message: z.string(),
    }),
  ),
  /** Nodes that were made ineligible by the commit of this result. */
  ineligibleNodes: z.array(nodeId),
  /** Tasks to be stopped or preempted that are not there any more. */
  alreadyGone: z.array(taskId),
  problems: z.array(z.strictObject({ path: z.string(), message: z.string() })),
  /** RFC 3339, UTC: when the queue got the plan. */
  receivedAt: z.string(),
  /** RFC 3339, UTC: when it was decided. */
  appliedAt: z.string(),
});

export type PlanResult = z.infer<typeof planResultSchema>;
export type RejectedNode = PlanResult['rejectedNodes'][number];
