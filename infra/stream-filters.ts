/**
 * What of the tasks' stream comes to the reaper; everything else costs no invocation. A task counts when it becomes old
 * or removable, or when the end of one is dealt with. Deletes, those by TTL included, never do: they are the reaper's own.
 * Numbers arrive as texts, which no filter can compare: the writer stores what the filter asks for (`lib/tasks/phase.ts`).
 * Lambda takes five filters; one that matches is enough.
 */
export const STREAM_FILTERS: readonly object[] = [
  // It became old or removable.
  {
    eventName: ['MODIFY'],
    dynamodb: { NewImage: { phase: { S: ['old', 'removable'] } }, OldImage: { phase: { S: [{ exists: false }] } } },
  },
  // It became removable, having been old.
  {
    eventName: ['MODIFY'],
    dynamodb: { NewImage: { phase: { S: ['removable'] } }, OldImage: { phase: { S: ['old'] } } },
  },
  // It would never have run, and is orphaned now: what is attached to a node goes then, and a slot has another last trace.
  {
    eventName: ['MODIFY'],
    dynamodb: {
      NewImage: { phase: { S: ['old'] }, state: { S: ['complete', 'shutdown', 'failed', 'rejected', 'orphaned'] } },
      OldImage: { phase: { S: ['old'] }, state: { S: ['new', 'pending'] } },
    },
  },
  // Its end was dealt with: until then it is kept.
  {
    eventName: ['MODIFY'],
    dynamodb: {
      NewImage: { phase: { S: ['old'] }, desiredState: { S: ['complete', 'shutdown'] } },
      OldImage: { phase: { S: ['old'] }, desiredState: { S: ['ready', 'running'] } },
    },
  },
  // It was written as one that had ended: by a tool that brings tasks in from elsewhere.
  { eventName: ['INSERT'], dynamodb: { NewImage: { phase: { S: ['old', 'removable'] } } } },
];
