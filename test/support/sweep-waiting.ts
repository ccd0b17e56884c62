import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import type { PoolName } from '../../lib/ids.ts';
import { slotStore } from '../../lib/store/slot-store.ts';
import { sweepStore } from '../../lib/store/sweep-store.ts';
import { type PageOutcome, runPage } from '../../lib/tasks/run-page.ts';
import { sweepPageSchema } from '../../lib/tasks/sweep.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { BerthBed } from './berth-bed.ts';

/** Does the pages that wait in the sweep queue, as the sweeper does, and answers what each came to. */
export async function sweepWaiting(bed: BerthBed, pageTasks = 100): Promise<PageOutcome[]> {
  const { dynamo, sqs, clock } = bed.connection;
  const { tables } = bed.database;
  const queueUrl = bed.queues.sweep;
  const outcomes: PageOutcome[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl }));
    const [message] = Messages;
    if (!message) return outcomes;
    const slots = slotStore(dynamo, tables, new Map<PoolName, number>());
    const sweeps = sweepStore({ dynamo, tables, sqs, queueUrl });
    const outcome = await runPage(sweepPageSchema.parse(JSON.parse(message.Body ?? '')), {
      slots,
      // The test does not wait between pages.
      sweeps: { ...sweeps, readServices: (ids) => slots.readServices(ids), send: (page) => sweeps.send(page, 0) },
      clock,
      deadline: (clock() + 60_000) as EpochMs,
      sleep: (ms) => sleep(ms),
      random: Math.random,
      pageTasks,
      tolerant: false,
    });
    await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: message.ReceiptHandle }));
    outcomes.push(outcome);
  }
}
