import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { Queues } from './queues.ts';

const DEAD = 'arn:aws:sqs:r:a:dead.fifo';

let directory: string;
let journalFile: string;
let now: EpochMs;
const open: Queues[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-queues-'));
  journalFile = join(directory, 'queues.jsonl');
  now = 1_800_000_000_000 as EpochMs;
});

afterEach(() => {
  for (const queues of open.splice(0)) queues.close();
  rmSync(directory, { recursive: true });
});

/** Queues over the journal. Those opened before are not closed: to be found as after a `kill -9`. */
async function start(): Promise<Queues> {
  const queues = await Queues.open({ region: 'r', account: 'a', journalFile, clock: () => now });
  open.push(queues);
  return queues;
}

async function startWithQueue(): Promise<Queues> {
  const queues = await start();
  queues.create('dead.fifo', { FifoQueue: 'true' });
  queues.create('q.fifo', {
    FifoQueue: 'true',
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: DEAD, maxReceiveCount: 1 }),
  });
  return queues;
}

const send = (queues: Queues, body: string) =>
  queues.send('q.fifo', { body, attributes: {}, groupId: body[0], deduplicationId: body });

const bodies = async (queues: Queues, name: string) =>
  (await queues.receive(name, { max: 10 })).map(({ message }) => message.body);

describe('a journal', () => {
  test('brings back queues, their attributes and messages, deduplication, what was deleted', async () => {
    const before = await startWithQueue();
    send(before, 'a1');
    send(before, 'b1');
    const [first] = await before.receive('q.fifo', { max: 1 });
    before.delete('q.fifo', first?.receiptHandle as string);

    const after = await start();
    expect(after.attributes('q.fifo')).toEqual(before.attributes('q.fifo'));
    expect(after.counts('q.fifo')).toEqual({ visible: 1, inFlight: 0, delayed: 0 });
    expect(send(after, 'a1').duplicate).toBe(true);
    expect(await bodies(after, 'q.fifo')).toEqual(['b1']);
  });

  test('brings a message that was in flight back at once, its receive counted', async () => {
    const before = await startWithQueue();
    send(before, 'a1');
    await before.receive('q.fifo', { max: 1 });
    const after = await start();
    expect(await bodies(after, 'q.fifo')).toEqual([]);
    expect(await bodies(after, 'dead.fifo')).toEqual(['a1']);
  });

  test('has a dead letter in one queue or the other, never in both or none, wherever it ends', async () => {
    const before = await startWithQueue();
    send(before, 'a1');
    await before.receive('q.fifo', { max: 1, visibilitySeconds: 0 });
    await before.receive('q.fifo', { max: 1 });
    const lines = readFileSync(journalFile, 'utf8').split('\n');
    for (let kept = 3; kept <= lines.length; kept += 1) {
      writeFileSync(
        journalFile,
        lines
          .slice(0, kept)
          .map((line) => `${line}\n`)
          .join(''),
      );
      const after = await start();
      const counted = after.counts('q.fifo').visible + after.counts('dead.fifo').visible;
      expect([kept, counted]).toEqual([kept, 1]);
    }
  });

  test('leaves out a last line that was not written to its end', async () => {
    send(await startWithQueue(), 'a1');
    appendFileSync(journalFile, '[{"queue":"q.fifo","change":{"kind":"sent","mess');
    const after = await start();
    expect(await bodies(after, 'q.fifo')).toEqual(['a1']);
    send(after, 'a2');
    expect((await start()).counts('q.fifo').visible).toBe(2);
  });

  test('that is damaged before its end is an error that names the line', async () => {
    send(await startWithQueue(), 'a1');
    const [first, ...rest] = readFileSync(journalFile, 'utf8').split('\n');
    writeFileSync(journalFile, [first, 'nonsense', ...rest].join('\n'));
    await expect(start()).rejects.toThrow(`${journalFile}:2: not a list of changes in JSON`);
  });

  test('is as short as what is there when the queues are opened again', async () => {
    const before = await startWithQueue();
    for (let index = 0; index < 50; index += 1) {
      send(before, `a${index}`);
      const [message] = await before.receive('q.fifo', { max: 1 });
      before.delete('q.fifo', message?.receiptHandle as string);
    }
    now = (now + 5 * 60 * 1000) as EpochMs;
    await start();
    expect(readFileSync(journalFile, 'utf8').trim().split('\n')).toHaveLength(2);
  });
});

test('time does not run backwards when the clock is set back', async () => {
  const queues = await startWithQueue();
  send(queues, 'a1');
  now = (now - 60_000) as EpochMs;
  expect(await bodies(queues, 'q.fifo')).toEqual(['a1']);
});

test('a dead letter wakes whoever waits for it', async () => {
  const queues = await startWithQueue();
  send(queues, 'a1');
  await queues.receive('q.fifo', { max: 1, visibilitySeconds: 0 });
  const waiting = queues.receive('dead.fifo', { max: 1, waitSeconds: 20 });
  await queues.receive('q.fifo', { max: 1 });
  expect((await waiting).map(({ message }) => message.body)).toEqual(['a1']);
});

test('long polls are served in the order in which they came', async () => {
  const queues = await startWithQueue();
  const first = queues.receive('q.fifo', { max: 1, waitSeconds: 20 });
  const second = queues.receive('q.fifo', { max: 1, waitSeconds: 20 });
  send(queues, 'a1');
  expect((await first).map(({ message }) => message.body)).toEqual(['a1']);
  queues.endWaits('q.fifo');
  expect(await second).toEqual([]);
});

test('a receiver that has gone while it waited is handed nothing', async () => {
  const queues = await startWithQueue();
  const gone = new AbortController();
  const waiting = queues.receive('q.fifo', { max: 1, waitSeconds: 20, signal: gone.signal });
  gone.abort();
  send(queues, 'a1');
  expect(await waiting).toEqual([]);
  expect(queues.counts('q.fifo')).toEqual({ visible: 1, inFlight: 0, delayed: 0 });
});
