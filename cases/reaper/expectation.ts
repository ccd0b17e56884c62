import type { ReaperCase } from './case.ts';
import type { ReaperOutcome, TaskView } from './state.ts';

/** Where the outcome of a case of the reaper is not what the case expects. */
export function reaperDifferences({ expect, tasks }: ReaperCase, outcome: ReaperOutcome): string[] {
  const { before, after, done, problems } = outcome;
  const came = {
    deleted: [...before.keys()].filter((id) => !after.has(id)),
    kept: [...after.keys()],
    markedRemove: changed(outcome, (was, is) => is.desiredState === 'remove' && was.desiredState !== 'remove'),
    markedOrphaned: changed(outcome, (was, is) => is.state === 'orphaned' && was.state !== 'orphaned'),
  };
  // Of a task that is deleted, nothing that is stored says what was done to it before.
  const there = (ids: readonly string[] = []) => ids.filter((id) => after.has(id));
  const marks = (['markedRemove', 'markedOrphaned'] as const).flatMap((what) => [
    ...difference(`${what} of those that are left`, there(expect[what]), came[what]),
    ...(done && expect[what] ? difference(what, expect[what], done[what]) : []),
  ]);
  return [
    ...(expect.deleted.length + expect.kept.length === tasks.length
      ? []
      : ['expect: each task is expected to be deleted or kept, none twice']),
    ...difference('deleted', expect.deleted, came.deleted),
    ...difference('kept', expect.kept, came.kept),
    ...marks,
    ...strays(outcome, came),
    ...problems,
  ];
}

/** Tasks that were changed in any way but those that have a name. */
function strays(outcome: ReaperOutcome, came: { markedRemove: string[]; markedOrphaned: string[] }): string[] {
  const marked = new Set([...came.markedRemove, ...came.markedOrphaned]);
  const other = changed(outcome, (was, is) => was.state !== is.state || was.desiredState !== is.desiredState);
  return other.filter((id) => !marked.has(id)).map((id) => `task ${id} has changed`);
}

function changed({ before, after }: ReaperOutcome, is: (was: TaskView, now: TaskView) => boolean): string[] {
  return [...after].filter(([id, now]) => is(before.get(id) ?? now, now)).map(([id]) => id);
}

function difference(what: string, expected: readonly string[], came: readonly string[]): string[] {
  const [wanted, got] = [list(expected), list(came)];
  return wanted === got ? [] : [`expected ${what} ${wanted}, came ${got}`];
}

/** As a set, in one order; a long one shortened. */
function list(ids: readonly string[]): string {
  const text = [...ids].sort().join(', ');
  return `[${text.length <= 200 ? text : `${text.slice(0, 200)}… (${ids.length})`}]`;
}
