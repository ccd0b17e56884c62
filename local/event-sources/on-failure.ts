import { randomUUID } from 'node:crypto';
import { type EpochMs, isoTime } from '../../lib/time.ts';
import { createdAt, type StreamRecord } from './stream-event.ts';

/** Why records are not delivered any more. */
export type DropCondition = 'RetryAttemptsExhausted' | 'RecordAgeExceeded';

/** Records that were given up. */
export interface Dropped {
  readonly condition: DropCondition;
  /** At least one, in order. */
  readonly records: readonly StreamRecord[];
  readonly shardId: string;
  readonly functionArn: string;
  /** How often the function was invoked with them. */
  readonly invocations: number;
  /** Whether the last time it threw, timed out or crashed; not, when it answered what failed. */
  readonly functionError: boolean;
}

/**
 * What Lambda tells the on-failure destination of a stream: where the records are, not what they are.
 *
 * Source: Lambda developer guide, "Retaining discarded batch records"; without an invocation there is no response.
 */
export function onFailureMessage(dropped: Dropped, now: EpochMs): object {
  const { records, invocations } = dropped;
  const [first, last] = [records[0], records.at(-1)] as [StreamRecord, StreamRecord];
  return {
    requestContext: {
      requestId: randomUUID(),
      functionArn: dropped.functionArn,
      condition: dropped.condition,
      approximateInvokeCount: invocations,
    },
    ...(invocations > 0 && {
      responseContext: {
        statusCode: 200,
        executedVersion: '$LATEST',
        ...(dropped.functionError && { functionError: 'Unhandled' }),
      },
    }),
    version: '1.0',
    timestamp: isoTime(now),
    DDBStreamBatchInfo: {
      shardId: dropped.shardId,
      startSequenceNumber: first.dynamodb.SequenceNumber,
      endSequenceNumber: last.dynamodb.SequenceNumber,
      approximateArrivalOfFirstRecord: isoSeconds(createdAt(first)),
      approximateArrivalOfLastRecord: isoSeconds(createdAt(last)),
      batchSize: records.length,
      streamArn: first.eventSourceARN,
    },
  };
}

function isoSeconds(at: EpochMs): string {
  return isoTime(at).replace('.000Z', 'Z');
}
