import type { DynamoDBRecord } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import type { SlotOutcome } from '../../lib/tasks/reap.ts';
import type { SlotKey } from '../../lib/tasks/task.ts';
import { type ChangedSlot, changedSlots, failuresOf } from './records.ts';

function record(slotKey: string, sequence: string, more: Partial<NonNullable<DynamoDBRecord['dynamodb']>> = {}) {
  const dynamodb = {
    Keys: { slotKey: { S: slotKey }, taskId: { S: 't' } },
    NewImage: { phase: { S: 'old' } },
    SequenceNumber: sequence,
    ApproximateCreationDateTime: 100,
    ...more,
  };
  return { eventID: `e${sequence}`, eventName: 'MODIFY', dynamodb } satisfies DynamoDBRecord;
}

describe('the slots of a batch', () => {
  it('are each there once, with the first sequence number and the first time of their records', () => {
    const records = [
      record('web#1', '11', { ApproximateCreationDateTime: 100 }),
      record('web#2', '12', { ApproximateCreationDateTime: 101 }),
      record('web#1', '13', { ApproximateCreationDateTime: 102 }),
      record('web#1', '14', { ApproximateCreationDateTime: 103 }),
      record('@n1', '15', { ApproximateCreationDateTime: 104 }),
    ];
    expect(changedSlots(records)).toEqual({
      slots: [
        { slotKey: 'web#1', removable: false, sequenceNumber: '11', changedAt: 100 },
        { slotKey: 'web#2', removable: false, sequenceNumber: '12', changedAt: 101 },
        { slotKey: '@n1', removable: false, sequenceNumber: '15', changedAt: 104 },
      ],
      malformed: [],
    });
  });

  it('may have something removable if any of their records says so, whichever it is', () => {
    const removable = { NewImage: { phase: { S: 'removable' } } };
    const { slots } = changedSlots([
      record('first#1', '1', removable),
      record('first#1', '2'),
      record('last#1', '3'),
      record('last#1', '4', removable),
      record('none#1', '5'),
      record('none#1', '6', { NewImage: {} }),
    ]);
    expect(slots.map(({ slotKey, removable }) => [slotKey, removable])).toEqual([
      ['first#1', true],
      ['last#1', true],
      ['none#1', false],
    ]);
  });

  it('have no time where the stream tells none, and that of the first record which has one', () => {
    const timeless = record('web#1', '1');
    const { ApproximateCreationDateTime: _none, ...dynamodb } = timeless.dynamodb;
    const [slot] = changedSlots([{ ...timeless, dynamodb }]).slots;
    expect(slot).toEqual({ slotKey: 'web#1', removable: false, sequenceNumber: '1', changedAt: undefined });
    const [later] = changedSlots([{ ...timeless, dynamodb }, record('web#1', '2')]).slots;
    expect(later).toMatchObject({ sequenceNumber: '1', changedAt: 100 });
  });

  const MALFORMED: readonly { what: string; record: DynamoDBRecord; key: string }[] = [
    { what: 'nothing in it', record: { eventID: 'e1' }, key: 'record e1' },
    { what: 'no key', record: { ...record('web#1', '1'), dynamodb: { SequenceNumber: '1' } }, key: 'record e1' },
    { what: 'an empty key', record: record('', '1'), key: 'record e1' },
    {
      what: 'a key that is a number',
      record: record('web#1', '1', { Keys: { slotKey: { N: '7' } } }),
      key: 'record e1',
    },
    {
      what: 'no sequence number',
      record: { eventID: 'e1', dynamodb: { Keys: { slotKey: { S: 'web#1' } } } },
      key: 'record e1',
    },
    { what: 'nothing at all', record: {}, key: 'record without an id' },
  ];

  it.each(MALFORMED)('leave out a record with $what, which is told of, and take the others', ({ record: bad, key }) => {
    const { slots, malformed } = changedSlots([record('a#1', '1'), bad, record('b#1', '2')]);
    expect(slots.map(({ slotKey }) => slotKey)).toEqual(['a#1', 'b#1']);
    expect(malformed).toEqual([{ key, problem: expect.stringMatching(/no key of a slot, or no sequence number/) }]);
  });
});

describe('what is to be delivered again', () => {
  const slot = (slotKey: string, sequenceNumber: string): ChangedSlot => ({
    ...{ slotKey: slotKey as SlotKey, removable: false, sequenceNumber, changedAt: 1 },
  });
  const outcome = (slotKey: string, error?: Error): SlotOutcome => ({
    ...{ slotKey: slotKey as SlotKey, deleted: [], marked: [], remaining: 1, conflicts: 0, malformed: [] },
    ...{ unknown: false, error },
  });

  it('begins at the first record of each slot that failed', () => {
    const slots = [slot('a#1', '1'), slot('b#1', '2'), slot('c#1', '3'), slot('d#1', '4')];
    const failed = new Error('no');
    const outcomes = [outcome('d#1', failed), outcome('c#1'), outcome('b#1', failed), outcome('a#1')];
    expect(failuresOf(slots, outcomes)).toEqual(['2', '4']);
  });

  it('is nothing where no slot failed', () => {
    expect(failuresOf([slot('a#1', '1')], [outcome('a#1')])).toEqual([]);
  });
});
