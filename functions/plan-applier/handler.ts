import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@aws-lambda-powertools/logger';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { PoolName } from '../../lib/ids.ts';
import type { Pool } from '../../lib/nodes/pool.ts';
import type { CommittedGroup } from '../../lib/plans/apply.ts';
import { WindowCache } from '../../lib/plans/window-cache.ts';
import { APPLIER } from '../../lib/settings.ts';
import { dynamoClient } from '../../lib/store/dynamo.ts';
import { planStore } from '../../lib/store/plan-store.ts';
import { makeVisible, quarantine } from '../../lib/store/queue.ts';
import { QUEUE_ENV, requiredEnv, tableNamesFromEnv } from '../../lib/store/tables.ts';
import { type EpochMs, systemClock } from '../../lib/time.ts';
import { applyRecords, type Edges } from './apply-records.ts';
import { batchResponse, byGroup, planRecord } from './records.ts';
import { tell, tellFailure, tellMarks } from './tell.ts';

const logger = new Logger({ serviceName: 'plan-applier' });
const tables = tableNamesFromEnv(process.env, ['nodes', 'tasks', 'plans', 'pools', 'rejections']);
const planQueueUrl = requiredEnv(process.env, QUEUE_ENV.plans);
const quarantineUrl = requiredEnv(process.env, QUEUE_ENV.quarantine);
const dynamo = dynamoClient();
const sqs = new SQSClient({
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true },
  // The URL of a queue names AWS's host even where an endpoint is set.
  useQueueUrlAsEndpoint: false,
});
/** Pools as the last batch left them, for the next one of this environment. */
const pools = new Map<PoolName, Pool>();
const windows = new WindowCache();

export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const remaining = context.getRemainingTimeInMillis();
  const signal = AbortSignal.timeout(Math.max(1, remaining - APPLIER.abortMs));
  const apply = {
    store: planStore(dynamo, tables, signal),
    clock: systemClock,
    deadline: (Date.now() + remaining - APPLIER.reserveMs) as EpochMs,
    sleep: (ms: number) => sleep(ms),
    random: Math.random,
    pools,
    windows,
    committed: (group: CommittedGroup) => tellMarks(logger, group),
  };
  const edges: Edges = {
    async quarantine(record, reason) {
      await quarantine(sqs, quarantineUrl, record.body, { ...record, reason }, signal);
      logger.error('plan message quarantined', { reason, messageId: record.messageId, pool: record.group });
    },
    async again(records) {
      try {
        const handles = records.map(({ receiptHandle }) => receiptHandle);
        await makeVisible(sqs, planQueueUrl, handles);
      } catch (error) {
        logger.warn('plans wait for their visibility to end', { pool: records[0]?.group, error: error as Error });
      }
    },
    decided: (outcome) => tell(logger, outcome),
    failed: (error, records) => tellFailure(logger, error, records),
  };
  const failed = await Promise.all(
    byGroup(event.Records.map(planRecord)).map((records) => applyRecords(records, apply, edges)),
  );
  return batchResponse(failed.flat());
}
