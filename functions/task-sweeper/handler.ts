import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@aws-lambda-powertools/logger';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { publishReaperMetrics, tellMalformed, tellSlot } from '../../lib/aws/slot-telemetry.ts';
import { timeLeft } from '../../lib/aws/time-left.ts';
import type { PoolName } from '../../lib/ids.ts';
import { SWEEPER } from '../../lib/settings.ts';
import { dynamoClient } from '../../lib/store/dynamo.ts';
import { quarantine, queueClient } from '../../lib/store/queue.ts';
import { slotStore } from '../../lib/store/slot-store.ts';
import { sweepStore } from '../../lib/store/sweep-store.ts';
import { QUEUE_ENV, requiredEnv, tableNamesFromEnv } from '../../lib/store/tables.ts';
import { PageError, type PageOutcome, runPage } from '../../lib/tasks/run-page.ts';
import type { SweepPage } from '../../lib/tasks/sweep.ts';
import { type EpochMs, systemClock } from '../../lib/time.ts';
import { pageTasksOf, readPage } from './page-message.ts';

const logger = new Logger({ serviceName: 'task-sweeper' });
const tables = tableNamesFromEnv(process.env, ['tasks', 'services', 'nodes', 'pools']);
const queueUrl = requiredEnv(process.env, QUEUE_ENV.sweep);
const failuresUrl = requiredEnv(process.env, QUEUE_ENV.reaperFailures);
const dynamo = dynamoClient();
const sqs = queueClient();
const shards = new Map<PoolName, number>();

/** Does the pages of sweeps that are received, each on its own. */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const { signal, deadline } = timeLeft(context, SWEEPER);
  const batchItemFailures: { itemIdentifier: string }[] = [];
  for (const record of event.Records) {
    try {
      await handlePage(record, deadline, signal);
    } catch (error) {
      logger.error('page of a sweep failed; it is delivered again', { messageId: record.messageId, error });
      batchItemFailures.push({ itemIdentifier: record.messageId });
    }
  }
  return { batchItemFailures };
}

async function handlePage(record: SQSRecord, deadline: EpochMs, signal: AbortSignal): Promise<void> {
  const read = readPage(record.body);
  if ('reason' in read) {
    const { messageId, body, eventSourceARN } = record;
    await quarantine(
      sqs,
      failuresUrl,
      body,
      { messageId, reason: read.reason, group: '', source: eventSourceARN },
      signal,
    );
    logger.error('message is no page of a sweep; it is set aside', { messageId, reason: read.reason });
    return;
  }
  // By the queue's clock, which is AWS's as the applier's is; that of whoever scales may be wrong by hours.
  const sentAt = Number(record.attributes.SentTimestamp) as EpochMs;
  const page = read.page.reason === 'scaled-away' ? { placedBefore: sentAt, ...read.page } : read.page;
  const receives = Number(record.attributes.ApproximateReceiveCount);
  const slots = slotStore(dynamo, tables, shards, signal);
  const sweeps = sweepStore({ dynamo, tables, sqs, queueUrl, signal });
  try {
    const outcome = await runPage(page, {
      slots,
      sweeps: { ...sweeps, readServices: (services) => slots.readServices(services) },
      clock: systemClock,
      deadline,
      sleep: (ms) => sleep(ms),
      random: Math.random,
      pageTasks: pageTasksOf(receives),
      tolerant: receives >= SWEEPER.tolerantFrom,
    });
    tell(page, outcome);
  } catch (error) {
    if (error instanceof PageError) for (const outcome of error.outcomes) tellSlot(logger, outcome);
    throw error;
  }
}

function tell(page: SweepPage, outcome: PageOutcome): void {
  const { sweepId, reason, serviceId } = page;
  const about = { sweepId, reason, page: page.page, ...(serviceId === undefined ? {} : { serviceId }) };
  if (outcome.kind === 'repeated') {
    logger.debug('page of a sweep was done before', about);
    return;
  }
  const { record, outcomes } = outcome;
  // A slot that the page shows and that was read on its own as well shows them a second time.
  const shown = new Set(outcomes.flatMap(({ malformed }) => malformed.map(({ key }) => key)));
  const malformed = outcome.malformed.filter(({ key }) => !shown.has(key));
  for (const slot of outcomes) tellSlot(logger, slot);
  tellMalformed(logger, malformed);
  const lost = reason === 'schedule' || reason === 'request';
  const found = outcomes.reduce((sum, { deleted, marked }) => sum + deleted.length + marked.length, 0);
  publishReaperMetrics(outcomes, { malformed: malformed.length, ...(lost ? { found } : {}) });
  if (record.finishedAt === undefined) return;
  const { startedAt, finishedAt, expiresAt: _gone, ...counts } = record;
  logger.info('sweep done', { ...about, ...counts, seconds: (finishedAt - startedAt) / 1000 });
}
