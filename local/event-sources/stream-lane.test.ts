import { describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import type { StreamRecord } from './stream-event.ts';
import { type LaneSettings, type Outcome, StreamLane } from './stream-lane.ts';

const SETTINGS: LaneSettings = {
  batchSize: 3,
  windowMs: 0,
  maximumAgeMs: Number.POSITIVE_INFINITY,
  redeliverEvery: 0,
  bisectOnError: false,
  maximumRetries: Number.POSITIVE_INFINITY,
};

const START = 1_800_000_000_000;

/** A lane whose function ends as `outcomes` say, one after the other, and then succeeds. What happens is in `events`. */
function laneWith(settings: Partial<LaneSettings>, outcomes: readonly Outcome[] = []) {
  const events: string[] = [];
  const state = { now: START, paused: false, hurried: false };
  const left = [...outcomes];
  const textOf = (records: readonly StreamRecord[]) => records.map(({ dynamodb }) => dynamodb.SequenceNumber).join(' ');
  const lane = new StreamLane(
    { ...SETTINGS, ...settings },
    {
      now: () => state.now as EpochMs,
      paused: () => state.paused,
      abandoned: () => false,
      hurried: () => state.hurried,
      invoke: async (records) => {
        events.push(`invoke ${textOf(records)}`);
        return left.shift() ?? { ok: true };
      },
      backOff: async (retry) => void events.push(`back off ${retry}`),
      handled: (records) => void events.push(...(records.length > 0 ? [`done ${textOf(records)}`] : [])),
      drop: async ({ records }, condition) => void events.push(`drop ${textOf(records)} ${condition}`),
    },
  );
  const add = (...numbers: number[]) => {
    for (const number of numbers) lane.add(recordAt(number, state.now));
  };
  const work = async (): Promise<string[]> => {
    lane.wake();
    await lane.settled();
    return events.splice(0);
  };
  return { lane, state, add, work };
}

function recordAt(number: number, at: number): StreamRecord {
  const dynamodb = { SequenceNumber: String(number), ApproximateCreationDateTime: at / 1000 };
  return { dynamodb } as StreamRecord;
}

const failedFrom = (first: number): Outcome => ({ ok: false, first, functionError: false });

describe('a batch', () => {
  test('that is not full waits for its window, to the millisecond; a full one does not', async () => {
    const { state, add, work } = laneWith({ windowMs: 5_000 });
    add(1, 2);
    expect(await work()).toEqual([]);
    state.now += 4_999;
    add(3, 4);
    expect(await work()).toEqual(['invoke 1 2 3', 'done 1 2 3']);
    // The window is that of the oldest that is left.
    state.now += 4_999;
    expect(await work()).toEqual([]);
    state.now += 1;
    expect(await work()).toEqual(['invoke 4', 'done 4']);
  });

  test('does not wait when somebody waits for the end', async () => {
    const { state, add, work } = laneWith({ windowMs: 5_000 });
    add(1);
    state.hurried = true;
    expect(await work()).toEqual(['invoke 1', 'done 1']);
  });

  test('that fails is all there is until it is dealt with; pauses grow and begin anew after a success', async () => {
    const { add, work } = laneWith({ maximumRetries: 2 }, [failedFrom(1), failedFrom(0), { ok: true }, failedFrom(0)]);
    add(1, 2, 3, 4);
    expect(await work()).toEqual([
      ...['invoke 1 2 3', 'done 1', 'back off 1', 'invoke 2 3', 'back off 2', 'invoke 2 3', 'done 2 3'],
      ...['invoke 4', 'back off 1', 'invoke 4', 'done 4'],
    ]);
  });

  test('is given up when no retries are left, and what is behind it goes on', async () => {
    const { lane, add, work } = laneWith({ maximumRetries: 1 }, [failedFrom(2), failedFrom(0)]);
    add(1, 2, 3, 4);
    expect(lane.isEmpty).toBe(false);
    expect(await work()).toEqual([
      ...['invoke 1 2 3', 'done 1 2', 'back off 1', 'invoke 3', 'drop 3 RetryAttemptsExhausted', 'done 3'],
      ...['invoke 4', 'done 4'],
    ]);
    expect(lane.isEmpty).toBe(true);
  });

  test('loses what is too old, between two tries too, and keeps what is not', async () => {
    const { state, add, work } = laneWith({ maximumAgeMs: 60_000 }, []);
    add(1);
    state.now += 30_000;
    add(2);
    state.now += 30_001;
    expect(await work()).toEqual(['drop 1 RecordAgeExceeded', 'done 1', 'invoke 2', 'done 2']);
  });

  test('of the age that is allowed is not too old', async () => {
    const { state, add, work } = laneWith({ maximumAgeMs: 60_000 });
    add(1);
    state.now += 60_000;
    expect(await work()).toEqual(['invoke 1', 'done 1']);
  });
});

describe('a pause', () => {
  test('lets nothing begin, and what was under way goes on afterwards', async () => {
    const { lane, state, add, work } = laneWith({}, [failedFrom(1)]);
    add(1, 2);
    lane.wake();
    state.paused = true;
    expect(await work()).toEqual(['invoke 1 2', 'done 1', 'back off 1']);
    expect(lane.length).toBe(1);
    expect(await work()).toEqual([]);
    state.paused = false;
    expect(await work()).toEqual(['invoke 2', 'done 2']);
  });
});

test('a batch that is delivered again comes behind a later one, or last; how it ends changes nothing', async () => {
  const { lane, add, work } = laneWith({ batchSize: 1, redeliverEvery: 2 }, [
    ...Array.from({ length: 3 }, (): Outcome => ({ ok: true })),
    failedFrom(0),
  ]);
  add(1, 2, 3, 4);
  expect(await work()).toEqual([
    ...['invoke 1', 'done 1', 'invoke 2', 'done 2', 'invoke 3', 'done 3', 'invoke 2'],
    ...['invoke 4', 'done 4', 'invoke 4'],
  ]);
  expect(lane.isEmpty).toBe(true);
});
