import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@aws-lambda-powertools/logger';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { putEvents } from '../../lib/aws/event-bus.ts';
import { requestHandler } from '../../lib/aws/requests.ts';
import { timeLeft } from '../../lib/aws/time-left.ts';
import type { PoolName } from '../../lib/ids.ts';
import type { Pool } from '../../lib/nodes/pool.ts';
import type { ApplyContext } from '../../lib/plans/apply.ts';
import { eventsOf } from '../../lib/plans/events.ts';
import { WindowCache } from '../../lib/plans/window-cache.ts';
import { APPLIER } from '../../lib/settings.ts';
import { dynamoClient } from '../../lib/store/dynamo.ts';
import { planStore } from '../../lib/store/plan-store.ts';
import { makeVisible, quarantine, queueClient } from '../../lib/store/queue.ts';
import { EVENT_BUS_ENV, QUEUE_ENV, requiredEnv, tableNamesFromEnv } from '../../lib/store/tables.ts';
import { systemClock } from '../../lib/time.ts';
import { applyRecords, type Edges } from './apply-records.ts';
import { PoolMeasure } from './measure.ts';
import { batchResponse, byGroup, planRecord } from './records.ts';
import { tell, tellFailure, tellMarks } from './tell.ts';

const logger = new Logger({ serviceName: 'plan-applier' });
const tables = tableNamesFromEnv(process.env, ['nodes', 'tasks', 'plans', 'pools', 'rejections']);
const planQueueUrl = requiredEnv(process.env, QUEUE_ENV.plans);
const eventBus = requiredEnv(process.env, EVENT_BUS_ENV);
const quarantineUrl = requiredEnv(process.env, QUEUE_ENV.quarantine);
const dynamo = dynamoClient();
const events = new EventBridgeClient({ requestHandler });
const sqs = queueClient();
/** Pools as the last batch left them, for the next one of this environment. */
const pools = new Map<PoolName, Pool>();
const windows = new WindowCache();

export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const { signal, deadline } = timeLeft(context, APPLIER);
  const store = planStore(dynamo, tables, signal);
  const failed = await Promise.all(
    byGroup(event.Records.map(planRecord)).map(async (records) => {
      const measure = new PoolMeasure(records[0]?.group ?? '');
      const apply: ApplyContext = {
        ...{ store, clock: systemClock, deadline, random: Math.random, pools, windows },
        sleep: (ms) => sleep(ms),
        committed(group) {
          tellMarks(logger, group);
          measure.committed(group);
        },
      };
      try {
        return await applyRecords(records, apply, edgesOf(measure, signal));
      } finally {
        measure.publish();
      }
    }),
  );
  return batchResponse(failed.flat());
}

/** What happens besides applying, for the records of one pool. */
function edgesOf(measure: PoolMeasure, signal: AbortSignal): Edges {
  return {
    async quarantine(record, reason) {
      await quarantine(sqs, quarantineUrl, record.body, { ...record, reason }, signal);
      logger.error('plan message quarantined', { reason, messageId: record.messageId, pool: record.group });
      measure.quarantined();
    },
    async again(records, seconds) {
      try {
        const handles = records.map(({ receiptHandle }) => receiptHandle);
        await makeVisible(sqs, planQueueUrl, handles, seconds, signal);
      } catch (error) {
        logger.warn('plans wait for their visibility to end', { pool: records[0]?.group, error: error as Error });
      }
    },
    async decided(outcomes) {
      for (const outcome of outcomes) {
        tell(logger, outcome);
        measure.decided(outcome);
      }
      // Of a stored result as well: the invocation that stored it may have died before it could tell.
      await putEvents(
        events,
        eventBus,
        outcomes.flatMap(({ result }) => eventsOf(result)),
        signal,
      );
    },
    failed: (error, records) => tellFailure(logger, error, records),
  };
}
