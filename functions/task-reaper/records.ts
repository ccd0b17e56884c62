import type { AttributeValue, DynamoDBRecord } from 'aws-lambda';
import type { Malformed, SlotOutcome, SlotRequest } from '../../lib/tasks/reap.ts';
import type { SlotKey } from '../../lib/tasks/task.ts';

/** A slot that records of a batch are about. */
export interface ChangedSlot extends SlotRequest {
  /** Where the batch is to be taken up again if the slot fails: the first of its records. */
  readonly sequenceNumber: string;
  /** When the first of its records was written, seconds since 1970; undefined where the stream tells of none. */
  readonly changedAt: number | undefined;
}

/** The slots that a batch is about, each once; and records that are about none. */
export function changedSlots(records: readonly DynamoDBRecord[]): {
  readonly slots: readonly ChangedSlot[];
  readonly malformed: readonly Malformed[];
} {
  const slots = new Map<string, ChangedSlot>();
  const malformed: Malformed[] = [];
  for (const { dynamodb = {}, eventID = 'without an id' } of records) {
    const slotKey = textOf(dynamodb.Keys?.slotKey);
    if (slotKey === undefined || dynamodb.SequenceNumber === undefined) {
      malformed.push({ key: `record ${eventID}`, problem: 'it has no key of a slot, or no sequence number' });
      continue;
    }
    const known = slots.get(slotKey);
    slots.set(slotKey, {
      slotKey: slotKey as SlotKey,
      removable: known?.removable === true || textOf(dynamodb.NewImage?.phase) === 'removable',
      sequenceNumber: known?.sequenceNumber ?? dynamodb.SequenceNumber,
      changedAt: known?.changedAt ?? dynamodb.ApproximateCreationDateTime,
    });
  }
  return { slots: [...slots.values()], malformed };
}

const textOf = (value: AttributeValue | undefined) => (value?.S === undefined || value.S === '' ? undefined : value.S);

/** The sequence numbers from which on the batch is to be delivered again. Lambda takes the lowest; slots that are done find nothing to do. */
export function failuresOf(slots: readonly ChangedSlot[], outcomes: readonly SlotOutcome[]): string[] {
  const failed = new Set(outcomes.filter(({ error }) => error !== undefined).map(({ slotKey }) => slotKey));
  return slots.filter(({ slotKey }) => failed.has(slotKey)).map(({ sequenceNumber }) => sequenceNumber);
}
