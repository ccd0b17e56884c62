import { PurgeQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { sweepWaiting } from '../../test/support/sweep-waiting.ts';
import type { EpochMs } from '../time.ts';
import { berthOver } from './berth.ts';
import { SweepFailedError, SweepStalledError } from './sweeps.ts';

let bed: BerthBed;
beforeAll(async () => {
  bed = await startBerthBed();
});
afterAll(() => bed.stop());
afterEach(async () => {
  await bed.sqs.send(new PurgeQueueCommand({ QueueUrl: bed.queues.reaperFailures }));
  await sweepWaiting(bed);
});

describe('a sweep of which a page was given up', () => {
  const giveUp = (MessageBody: string) =>
    bed.sqs.send(new SendMessageCommand({ QueueUrl: bed.queues.reaperFailures, MessageBody }));
  const page = (sweepId: string, number: number) =>
    JSON.stringify({ apiVersion: 'berth/v1', kind: 'SweepPage', sweepId, reason: 'request', page: number });
  it('is told at once, by the page and what to do; the message stays', async () => {
    const sweepId = await bed.berth.sweep();
    await giveUp(page('of another sweep', 7));
    await giveUp('{"DDBStreamBatchInfo":{}}');
    await giveUp('no JSON');
    await giveUp(page(sweepId, 0));
    for (let look = 0; look < 2; look++) {
      const waiting = bed.berth.waitForSweep(sweepId);
      await expect(waiting).rejects.toThrow(SweepFailedError);
      await expect(waiting).rejects.toThrow(/^page 0 of sweep \w+ failed 8 times.*Mend that, sweep again/);
    }
  });

  it('is told while it is waited for, without asking the queue at every look', async () => {
    const sweepId = await bed.berth.sweep();
    const { sqs } = bed.connection;
    const asked: [string, number][] = [];
    let reads = 0;
    const send = async (command: object, ...rest: unknown[]) => {
      asked.push([command.constructor.name, reads]);
      const answer = await (sqs.send as (...args: unknown[]) => Promise<unknown>)(command, ...rest);
      // Right after the first question, which has found nothing.
      if (asked.length === 1) await giveUp(page(sweepId, 0));
      return answer;
    };
    const proxy = new Proxy(sqs, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
    const clock = () => (bed.now + 2_000 * reads++) as EpochMs;
    const waiting = berthOver({ ...bed.connection, sqs: proxy, clock }).waitForSweep(sweepId);
    await expect(waiting).rejects.toThrow(SweepFailedError);
    // Looks at 2 and 4 seconds asked nothing.
    expect(asked.slice(0, 3)).toEqual([
      ['GetQueueAttributesCommand', 1],
      ['GetQueueAttributesCommand', 4],
      ['ReceiveMessageCommand', expect.any(Number)],
    ]);
  });

  it('is no matter once another delivery of it was done', async () => {
    const sweepId = await bed.berth.sweep();
    await giveUp(page(sweepId, 0));
    await sweepWaiting(bed);
    expect((await bed.berth.waitForSweep(sweepId)).finishedAt).toBeDefined();
  });
});

it('a sweep of which no page is done for too long is not waited for any more, and goes on by itself', async () => {
  const sweepId = await bed.berth.sweep();
  const waiting = bed.berth.waitForSweep(sweepId, { stalledMs: 1 });
  await expect(waiting).rejects.toThrow(SweepStalledError);
  await expect(waiting).rejects.toThrow(/was done for 0 seconds: none of its pages is done.*event source/);
  await sweepWaiting(bed);
  expect((await bed.berth.waitForSweep(sweepId, { stalledMs: 1 })).finishedAt).toBeDefined();
});
