import * as z from 'zod/mini';
import { gzip } from '../gzip.ts';
import { isId } from '../ids.ts';
import { boundedProblems, listOf, type Problem, problemsOf } from '../schema.ts';
import { BOUNDS, RESULTS } from '../settings.ts';
import { type Plan, placementSchema, planSchema, preemptionSchema, stopSchema } from './plan.ts';

const LISTS = ['placements', 'stops', 'preemptions'] as const;
type List = (typeof LISTS)[number];

const anyEntries = z._default(listOf(z.unknown(), BOUNDS.entriesPerList), []);

/** A plan but for the entries of its lists, which are looked at one by one. */
const envelopeSchema = z.extend(planSchema, { placements: anyEntries, stops: anyEntries, preemptions: anyEntries });

/**
 * Whether `input` is a plan: the plan with every default filled in, or everything that is wrong with it. `group` is the
 * message group that it came in, if it came in one.
 *
 * The entries are checked until more is wrong than is told: a message of 1 MiB has room for half a million problems.
 */
export function checkPlan(
  input: unknown,
  group?: string,
): { readonly plan: Plan } | { readonly problems: readonly Problem[] } {
  const envelope = envelopeSchema.safeParse(input);
  const problems: Problem[] = envelope.success ? [] : problemsOf(envelope.error, input);
  if (group !== undefined) problems.push(...misdirected(input, group));
  const placements = checkedEntries(input, 'placements', placementSchema, problems);
  const stops = checkedEntries(input, 'stops', stopSchema, problems);
  const preemptions = checkedEntries(input, 'preemptions', preemptionSchema, problems);
  problems.push(...repeatedTasks(input));
  if (envelope.success && problems.length === 0) {
    const plan: Plan = { ...envelope.data, placements, stops, preemptions };
    problems.push(...tooManyNames(plan));
    if (problems.length === 0) return { plan };
  }
  return { problems: boundedProblems(problems) };
}

function checkedEntries<S extends z.ZodMiniType>(
  input: unknown,
  list: List,
  schema: S,
  problems: Problem[],
): z.output<S>[] {
  const checked: z.output<S>[] = [];
  for (const [at, entry] of entriesOf(input, list).entries()) {
    if (problems.length > RESULTS.maxProblems) break;
    const outcome = schema.safeParse(entry);
    if (outcome.success) checked.push(outcome.data);
    else problems.push(...problemsOf(outcome.error, entry, [list, at]));
  }
  return checked;
}

/** The entries of a list of what may be a plan; none if there are more than a plan may have. */
function entriesOf(input: unknown, list: List): readonly unknown[] {
  const entries = fieldOf(input, list);
  return Array.isArray(entries) && entries.length <= BOUNDS.entriesPerList ? entries : [];
}

function fieldOf(input: unknown, name: string): unknown {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, name)) return undefined;
  return (input as Readonly<Record<string, unknown>>)[name];
}

function misdirected(input: unknown, group: string): Problem[] {
  const pool = fieldOf(input, 'pool');
  if (!isId(pool) || pool === group) return [];
  return [{ path: 'pool', message: `expected ${group}, the message group that the plan came in, got ${pool}` }];
}

/** A task stands in a plan once: what two orders for one task mean together, nobody could say. */
function repeatedTasks(input: unknown): Problem[] {
  const first = new Map<string, string>();
  const problems: Problem[] = [];
  for (const list of LISTS) {
    for (const [at, entry] of entriesOf(input, list).entries()) {
      const taskId = fieldOf(entry, 'taskId');
      if (!isId(taskId)) continue;
      const path = `${list}[${at}].taskId`;
      const earlier = first.get(taskId);
      if (earlier === undefined) first.set(taskId, path);
      else problems.push({ path, message: `task ${taskId} stands in the plan already, at ${earlier}` });
      if (problems.length > RESULTS.maxProblems) return problems;
    }
  }
  return problems;
}

/** Bytes that the ids which a result may have to name take of the 400 KB of its item, compressed as they are stored. */
const MOST_NAMED_BYTES = 256 * 1024;

/** A result names every node that refuses and every task that is gone: it would have no room for 5,000 random ids of 128 characters. */
function tooManyNames({ placements, stops, preemptions }: Plan): Problem[] {
  const nodes = new Set(placements.map(({ nodeId }) => nodeId));
  const names = [...nodes, ...[...stops, ...preemptions].map(({ taskId }) => taskId)].join();
  if (names.length <= MOST_NAMED_BYTES) return [];
  const bytes = gzip(names).length;
  if (bytes <= MOST_NAMED_BYTES) return [];
  const message = `the ids of its nodes and of the tasks that it ends take ${bytes} bytes, a result has room for ${MOST_NAMED_BYTES}: split the plan by node`;
  return [{ path: '', message }];
}
