import * as z from 'zod/mini';
import { evalId, nodeId, planId, poolName, serviceId, taskId } from '../ids.ts';
import { MAX_PORT } from '../nodes/ports.ts';
import { resourcesSchema } from '../nodes/resources.ts';
import { flag, integer, listOf, objectOf, oneOf, quantity, text } from '../schema.ts';
import { BOUNDS } from '../settings.ts';

/** A port that a task claims on an address of its node. */
const portSchema = objectOf({
  ip: text(1, 45),
  value: integer(0, MAX_PORT),
  label: z._default(text(0, 63), ''),
  /** The claim passes although somebody else holds the port (hashicorp/nomad#23956). Default false. */
  ignoreCollision: z._default(flag, false),
});

/** How a volume is claimed. A single-writer claim stands beside no other claim of that volume on its node. */
const VOLUME_MODES = ['single-writer', 'multi-writer', 'reader-only'] as const;

const volumeSchema = objectOf({ source: text(1, BOUNDS.idLength), mode: oneOf(VOLUME_MODES) });

/** The place of a task: `service#slot` of a replicated service, `service@node` of a global one (slot left out). */
export const place = {
  taskId,
  serviceId,
  /** Left out for a global service, which has one task a node. */
  slot: z.optional(integer(0, Number.MAX_SAFE_INTEGER)),
  nodeId,
};

export const placementSchema = objectOf({
  ...place,
  /** `cpu` in thousandths of a core, `memory` and `disk` in MiB, others as the user names them. Default: nothing. */
  resources: z._default(resourcesSchema(BOUNDS.resourcesPerTask), {}),
  ports: z._default(listOf(portSchema, BOUNDS.portsPerTask), []),
  /** Ids of cores for this task alone. */
  cores: z._default(listOf(integer(0, 65_535), BOUNDS.coresPerTask), []),
  /** Ids of devices for this task alone. */
  devices: z._default(listOf(text(1, BOUNDS.idLength), BOUNDS.devicesPerTask), []),
  volumes: z._default(listOf(volumeSchema, BOUNDS.volumesPerTask), []),
  /** Which run of a job the task belongs to. Default 0. */
  jobIteration: z._default(quantity, 0),
});

export const stopSchema = objectOf({
  ...place,
  /** `shutdown` (the default), or `remove` to have the task reaped as soon as it has ended. */
  desiredState: z._default(oneOf(['shutdown', 'remove']), 'shutdown'),
});

export const preemptionSchema = objectOf({
  ...place,
  /** The task that the preempted one makes room for. */
  preemptedBy: z.optional(taskId),
});

const RFC_3339 = 'a time with a zone, as in 2027-01-01T00:00:00Z';

/**
 * A plan: what a scheduler worker proposes for one pool. A message on the plan queue is one plan as JSON of at most
 * 1 MiB, its group the pool, its deduplication id the plan id.
 */
export const planSchema = objectOf({
  apiVersion: z.optional(z.literal('berth/v1', { error: '"berth/v1"' })),
  kind: z.optional(z.literal('Plan', { error: '"Plan"' })),
  planId,
  pool: poolName,
  /** The evaluation that the plan serves; stands in logs and results. */
  evalId: z.optional(evalId),
  /** Stands in logs and on tasks; plans take effect in the order of the queue, whatever theirs is. Default 50. */
  priority: z._default(integer(0, BOUNDS.priorityMax), 50),
  /** The pool's index that the worker planned on. */
  snapshotIndex: z._default(quantity, 0),
  /** All nodes or none. Default false: each node on its own. */
  allAtOnce: z._default(flag, false),
  /** The plan is of no use after this. Default: for ever. */
  notAfter: z.optional(z.iso.datetime({ offset: true, error: RFC_3339 })),
  placements: z._default(listOf(placementSchema, BOUNDS.entriesPerList), []),
  stops: z._default(listOf(stopSchema, BOUNDS.entriesPerList), []),
  preemptions: z._default(listOf(preemptionSchema, BOUNDS.entriesPerList), []),
});

/** A plan as a worker hands it in: what has a default may be left out. */
export type PlanInput = z.input<typeof planSchema>;
/** A plan that was checked, every default filled in. */
export type Plan = z.output<typeof planSchema>;
export type Placement = Plan['placements'][number];
export type Stop = Plan['stops'][number];
export type Preemption = Plan['preemptions'][number];
