import type { SQSBatchResponse, SQSRecord } from 'aws-lambda';
import type { EpochMs } from '../../lib/time.ts';

/** A record of the plan queue, what deciding needs of it. */
export interface PlanRecord {
  readonly messageId: string;
  readonly body: string;
  readonly group: string;
  readonly sentAt: EpochMs;
  readonly source: string;
  readonly receiptHandle: string;
}

export function planRecord({ messageId, body, attributes, eventSourceARN, receiptHandle }: SQSRecord): PlanRecord {
  return {
    messageId,
    body,
    group: attributes.MessageGroupId ?? '',
    sentAt: Number(attributes.SentTimestamp) as EpochMs,
    source: eventSourceARN,
    receiptHandle,
  };
}

/** Records by pool, in order. A batch may mix pools (facts, a2); each is handled on its own. */
export function byGroup(records: readonly PlanRecord[]): PlanRecord[][] {
  const groups = new Map<string, PlanRecord[]>();
  for (const record of records) groups.set(record.group, [...(groups.get(record.group) ?? []), record]);
  return [...groups.values()];
}

/** The answer that gives `failed` back to the queue and takes everything else off it. */
export function batchResponse(failed: readonly PlanRecord[]): SQSBatchResponse {
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}
