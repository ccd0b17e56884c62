/**
 * What of the tasks' stream comes to the reaper; everything else costs no invocation. A task counts when it becomes old
 * or removable, or when the end of one is dealt with. Deletes, those by TTL included, never do: they are the reaper's own.
 * Numbers arrive as texts, which no filter can compare: the writer stores what the filter asks for (`lib/tasks/phase.ts`).
 * Lambda takes five filters; one that matches is enough.
 */
export const STREAM_FILTERS: readonly object[] = [
  // It became old.
  {
    eventName: ['MODIFY'],
    dynamodb: { NewImage: { phase: { S: ['old'] } }, OldImage: { phase: { S: [{ exists: false }] } } },
  },
  // It became removable, at once or having been old.
  {
    eventName: ['MODIFY'],
    dynamodb: { NewImage: { phase: { S: ['removable'] } }, OldImage: { phase: { S: [{ exists: false }] } } },
  },
  {
    eventName: ['MODIFY'],
    dynamodb: { NewImage: { phase: { S: ['removable'] } }, OldImage: { phase: { S: ['old'] } } },
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
