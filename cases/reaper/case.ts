import * as z from 'zod/mini';
import { isId, type NodeId, nodeId, type PoolName, type ServiceId, taskId } from '../../lib/ids.ts';
import { resourcesSchema } from '../../lib/nodes/resources.ts';
import { BOUNDS } from '../../lib/settings.ts';
import { SERVICE_MODES, type ServiceSpec, serviceSpecSchema } from '../../lib/tasks/service.ts';
import { DESIRED_STATES, TASK_STATES } from '../../lib/tasks/states.ts';
import { NO_SERVICE } from '../../lib/tasks/task.ts';
import type { EpochMs } from '../../lib/time.ts';
import { shaped } from '../shape.ts';

/** The pool that the tasks of a case are in. */
const CASE_POOL = 'test' as PoolName;

/** A number past the safe integers is meant: as many as there can be. */
const count = z.pipe(
  z.number().check(z.refine((value) => Number.isInteger(value), { error: 'a whole number' })),
  z.transform((value) => Math.max(Number.MIN_SAFE_INTEGER, Math.min(value, Number.MAX_SAFE_INTEGER))),
);

/** States stand in capitals in these files. */
function upper<const T extends string>(states: readonly T[]) {
  return z.pipe(
    z.string().check(z.refine((text) => states.some((state) => state.toUpperCase() === text), { error: 'a state' })),
    z.transform((text) => text.toLowerCase() as T),
  );
}

const time = z.pipe(
  z.string().check(z.refine((text) => !Number.isNaN(Date.parse(text)), { error: 'a time' })),
  z.transform((text) => Date.parse(text) as EpochMs),
);

const serviceIdOrNone = z.string().check(z.refine((text) => text === NO_SERVICE || isId(text), { error: 'an id' }));

const caseTask = z.strictObject({
  id: taskId,
  serviceId: serviceIdOrNone,
  slot: z.optional(z.int()),
  nodeId: z.optional(nodeId),
  state: upper([...TASK_STATES, 'remove']),
  desiredState: upper(DESIRED_STATES),
  statusTimestamp: z.optional(time),
  /** Wins over `statusTimestamp`. */
  appliedAt: z.optional(time),
  jobIteration: z.optional(z.int()),
  /** What it uses of its node. Default: one cpu. */
  resources: z._default(resourcesSchema(BOUNDS.resourcesPerTask), { cpu: 1 }),
  /** Whether its resources were given back. Default: whether it has ended, or is to stop. */
  released: z.optional(z.boolean()),
  /** Whether a plan that changes it is under way. */
  planUnderWay: z._default(z.boolean(), false),
});
type CaseTask = z.output<typeof caseTask>;

const caseService = z.object({
  id: z.string(),
  mode: z.enum(SERVICE_MODES),
  restartMaxAttempts: z.optional(count),
  /** Its own limit, which goes before the cluster's. */
  historyLimit: z.optional(count),
  jobIteration: z.optional(z.int()),
});

const named = { taskId: z.string() };
const oneEvent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('task-created'), ...named }),
  z.strictObject({ type: z.literal('task-updated'), ...named }),
]);
const event = z.discriminatedUnion('type', [
  ...oneEvent.def.options,
  z.strictObject({ type: z.literal('batch'), events: z.array(oneEvent) }),
  z.strictObject({ type: z.literal('startup-sweep') }),
  z.strictObject({ type: z.literal('limit-changed'), from: z.nullable(count), to: z.nullable(count) }),
  z.strictObject({ type: z.literal('service-removed'), serviceId: z.string() }),
  z.strictObject({ type: z.literal('service-updated'), serviceId: z.string() }),
  z.strictObject({ type: z.literal('service-scaled-down'), serviceId: z.string(), removedSlots: z.array(z.int()) }),
  z.strictObject({ type: z.literal('node-removed'), nodeId: z.string(), at: z.optional(time) }),
]);
export type ReaperEvent = z.output<typeof event>;

const ids = z.array(z.string());

const reaperCaseSchema = z.strictObject({
  id: z.string(),
  tags: z.optional(z.unknown()),
  description: z.optional(z.unknown()),
  decision: z.optional(z.unknown()),
  /** What the cluster keeps; null: nobody has set it. */
  retentionLimit: z.nullable(count),
  /** null: it is gone, or there is none. `unset`: nobody has ever told of it. */
  service: z.nullable(z.union([caseService, z.literal('unset')])),
  tasks: z.array(caseTask).check(
    z.refine((tasks) => new Set(tasks.map(({ id }) => id)).size === tasks.length, {
      error: 'an id that comes twice',
    }),
  ),
  event,
  /** Strict: an expectation that nobody looks at would pass unseen. */
  expect: z.strictObject({
    deleted: ids,
    kept: ids,
    markedRemove: z.optional(ids),
    markedOrphaned: z.optional(ids),
  }),
});

/** A case of the task reaper (the README of the shared cases has the format), under the names that it is run with. */
export interface ReaperCase extends Pick<z.output<typeof reaperCaseSchema>, 'retentionLimit' | 'event' | 'expect'> {
  readonly tasks: readonly (Omit<CaseTask, 'serviceId' | 'nodeId'> & { serviceId: ServiceId; nodeId: NodeId })[];
  /** The service as it is set, if it is. */
  readonly service: ServiceSpec | undefined;
  /** Services of tasks that were set once and are removed. */
  readonly gone: readonly ServiceId[];
  readonly pool: PoolName;
}

/** Whether `content` is meant to be a case of the task reaper: these files name no kind. */
export function isReaperCase(content: Readonly<Record<string, unknown>>): boolean {
  return 'retentionLimit' in content && 'event' in content && 'tasks' in content;
}

/**
 * `content` as a case of the reaper, with `prefix` before the ids of its services, its nodes and its pool, so that many
 * cases stand side by side in one set of tables; or what of it is not of that shape.
 */
export function reaperCaseOf(content: unknown, prefix: string): ReaperCase | { readonly problems: readonly string[] } {
  const outcome = shaped(reaperCaseSchema, content);
  if ('problems' in outcome) return outcome;
  const { retentionLimit, service, event, expect, tasks } = outcome.data;
  const renamed = (id: string) => (id === NO_SERVICE ? id : prefix + id);
  const known = service === null || service === 'unset' ? undefined : service;
  const services = new Set(tasks.map(({ serviceId }) => renamed(serviceId)).filter((id) => id !== NO_SERVICE));
  const gone = [...services].filter((id) => service !== 'unset' && id !== renamed(known?.id ?? NO_SERVICE));
  return {
    retentionLimit,
    expect,
    event: renamedEvent(event, renamed),
    service: known && specOf(known, renamed(known.id)),
    gone: gone as ServiceId[],
    pool: renamed(CASE_POOL) as PoolName,
    tasks: tasks.map((task) => ({
      ...task,
      serviceId: renamed(task.serviceId) as ServiceId,
      nodeId: renamed(task.nodeId ?? 'somewhere') as NodeId,
    })),
  };
}

function specOf({ mode, restartMaxAttempts, historyLimit, jobIteration }: z.output<typeof caseService>, id: string) {
  return serviceSpecSchema.parse({ serviceId: id, mode, restartMaxAttempts, historyLimit, jobIteration });
}

function renamedEvent(event: ReaperEvent, renamed: (id: string) => string): ReaperEvent {
  if ('serviceId' in event) return { ...event, serviceId: renamed(event.serviceId) };
  return 'nodeId' in event ? { ...event, nodeId: renamed(event.nodeId) } : event;
}
