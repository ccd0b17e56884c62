import { isDeepStrictEqual } from 'node:util';
import type { NodeId, PlanId } from '../../lib/ids.ts';
import type { Pool } from '../../lib/nodes/pool.ts';
import type { CommitOutcome, Learned, PlanStore } from '../../lib/plans/apply.ts';
import type { TaskKey } from '../../lib/plans/decide-part.ts';
import { type Needs, noNeeds, type StoredResult } from '../../lib/plans/facts.ts';
import type { Commit, EventsWrite, NodeWrite, ResultWrite, TaskWrite } from '../../lib/plans/ledger.ts';
import { NO_TALLY, type Progress } from '../../lib/plans/progress.ts';
import type { RejectionWindow } from '../../lib/plans/rejections.ts';
import type { EpochMs } from '../../lib/time.ts';

export function needs(asked: { readonly [kind in keyof Needs]?: readonly string[] }): Needs {
  const { tasks = [], accounts = [], windows = [], events = [], progress = [] } = asked;
  return {
    ...noNeeds(),
    tasks: new Set(tasks as TaskKey[]),
    accounts: new Set(accounts as NodeId[]),
    windows: new Set(windows as NodeId[]),
    events: new Set(events as NodeId[]),
    progress: new Set(progress as PlanId[]),
  };
}

let plans = 0;

interface Writes {
  readonly nodes?: readonly (readonly [string, NodeWrite])[];
  readonly tasks?: readonly (readonly [string, TaskWrite])[];
  readonly windows?: readonly RejectionWindow[];
  readonly events?: readonly (readonly [string, EventsWrite])[];
  readonly results?: readonly ResultWrite[];
  readonly progress?: Progress;
}

/** A commit on top of `pool`, with a result of its own unless `writes` has others. */
export function commitOf(pool: Pool, writes: Writes = {}): Commit {
  const { nodes = [], tasks = [], windows = [], events = [], progress } = writes;
  return {
    pool: { pool: pool.pool, index: pool.index + 1, shards: pool.shards, marks: undefined },
    nodes: new Map(nodes as [NodeId, NodeWrite][]),
    tasks: new Map(tasks as [TaskKey, TaskWrite][]),
    windows: new Map(windows.map((window) => [window.nodeId, window])),
    events: new Map(events as [NodeId, EventsWrite][]),
    results: writes.results ?? [resultOf(pool, `${pool.pool}-plan-${++plans}`, 0)],
    at: 1_772_366_401_000 as EpochMs,
    ...(progress ? { progress } : {}),
  };
}

export function resultOf({ pool, index }: Pool, planId: string, over: number): ResultWrite {
  const result: StoredResult['result'] = {
    planId: planId as PlanId,
    pool,
    status: 'applied',
    index: index + 1,
    refreshIndex: 0,
    committed: { placements: 0, stops: 0, preemptions: 0 },
    rejectedNodes: [],
    ineligibleNodes: [],
    alreadyGone: [],
    problems: [],
    receivedAt: '2026-03-01T12:00:00.000Z',
    appliedAt: '2026-03-01T12:00:01.000Z',
  };
  return { result, fingerprint: `fingerprint-${++plans}`, over };
}

export function progressOf(planId: string, version: number): Progress {
  const rest = { phase: 'deciding', from: version, to: 0, step: 0, tally: NO_TALLY, pending: NO_TALLY } as const;
  return { planId: planId as PlanId, fingerprint: 'f', version, ...rest, index: version, beside: version % 2 === 1 };
}

/** A result as it is shown: without what it took the place of. */
export function storedOf({ result, fingerprint }: ResultWrite): StoredResult {
  return { result, fingerprint };
}

/** The result of somebody else for the same plan. */
export function otherwise({ result, over }: ResultWrite): ResultWrite {
  return { result: { ...result, status: 'rejected' }, fingerprint: 'another', over };
}

/** Asks until there is an answer. */
export async function again<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'RetryError') throw error;
    }
  }
}

/** Commits until it is known what came of it. If the answer was lost, what was written shows that it was. */
export async function commitUntilKnown(store: PlanStore, commit: Commit): Promise<CommitOutcome> {
  for (;;) {
    const outcome = await again(() => store.commit(commit));
    if (outcome.kind === 'committed' || wrote(outcome.learned, commit)) return { kind: 'committed' };
    if (!outcome.busy) return outcome;
  }
}

/** The same for a commit that must be refused: what is stored already is not taken for its own. */
export async function commitOnce(store: PlanStore, commit: Commit): Promise<CommitOutcome> {
  for (;;) {
    const outcome = await again(() => store.commit(commit));
    if (outcome.kind === 'committed' || !outcome.busy) return outcome;
  }
}

/** Whether what a refusal shows under the ids of its plans is what `commit` writes there. */
function wrote({ results, progress }: Learned, commit: Commit): boolean {
  const shown = new Map(results.map(({ result, fingerprint }) => [result.planId, fingerprint]));
  const step = commit.progress;
  const stepped = !step || isDeepStrictEqual(progress.get(step.planId), step);
  return stepped && commit.results.every(({ result, fingerprint }) => shown.get(result.planId) === fingerprint);
}
