import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@aws-lambda-powertools/logger';
import type { Context, DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import { publishReaperMetrics, tellMalformed, tellSlot } from '../../lib/aws/slot-telemetry.ts';
import { timeLeft } from '../../lib/aws/time-left.ts';
import type { PoolName } from '../../lib/ids.ts';
import { REAPER } from '../../lib/settings.ts';
import { dynamoClient } from '../../lib/store/dynamo.ts';
import { slotStore } from '../../lib/store/slot-store.ts';
import { tableNamesFromEnv } from '../../lib/store/tables.ts';
import { reapSlots } from '../../lib/tasks/reap.ts';
import { systemClock } from '../../lib/time.ts';
import { changedSlots, failuresOf } from './records.ts';

const logger = new Logger({ serviceName: 'task-reaper' });
const tables = tableNamesFromEnv(process.env, ['tasks', 'services', 'nodes', 'pools']);
const dynamo = dynamoClient();
const shards = new Map<PoolName, number>();

/** Brings the slots that a batch of the tasks' stream is about to their limit, each once, and looks at no other. */
export async function handler(event: DynamoDBStreamEvent, context: Context): Promise<DynamoDBBatchResponse> {
  const { signal, deadline } = timeLeft(context, REAPER);
  const { slots, malformed } = changedSlots(event.Records);
  const outcomes = await reapSlots(slots, {
    store: slotStore(dynamo, tables, shards, signal),
    clock: systemClock,
    deadline,
    sleep: (ms) => sleep(ms),
    random: Math.random,
  });

  for (const outcome of outcomes) tellSlot(logger, outcome);
  tellMalformed(logger, malformed);
  const now = systemClock() / 1000;
  const lost = new Set(outcomes.filter(({ deleted }) => deleted.length > 0).map(({ slotKey }) => slotKey));
  const lags = slots.flatMap(({ slotKey, changedAt }) =>
    changedAt !== undefined && lost.has(slotKey) ? [Math.max(0, now - changedAt)] : [],
  );
  publishReaperMetrics(outcomes, { lags, malformed: malformed.length });
  return { batchItemFailures: failuresOf(slots, outcomes).map((itemIdentifier) => ({ itemIdentifier })) };
}
