import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { berthCommand } from '../../test/support/command.ts';
import { sweepWaiting } from '../../test/support/sweep-waiting.ts';
import { marshall } from '../store/dynamo.ts';

let bed: BerthBed;
beforeAll(async () => {
  bed = await startBerthBed();
  await bed.berth.registerPool({ pool: 'prod' });
  await bed.berth.registerNode({ pool: 'prod', nodeId: 'n1', capacity: { cpu: 100_000 } });
});
afterAll(() => bed.stop());

const berth = (...words: string[]) => berthCommand(bed.env, words);
const parsed = async (...words: string[]) => JSON.parse((await berth(...words, '--json')).out);

/** Runs a command that waits for a sweep, and the sweep. */
async function swept(...words: string[]) {
  let over = false;
  const command = berth(...words).finally(() => {
    over = true;
  });
  while (!over) await sweepWaiting(bed);
  return command;
}

describe('berth service', () => {
  it('sets a service, changes what is named of it, lists and removes it', async () => {
    expect((await berth('service', 'list')).out).toMatch(/^no service is set.*\n\n.*a slot keeps 5 old tasks\n$/);
    expect(await berth('service', 'set', 'web')).toMatchObject({
      ...{ status: 2, out: '' },
      err: 'berth: service web was not set before: say of which mode it is, with --mode replicated|global|replicated-job|global-job\n',
    });
    const made = await berth('service', 'set', 'web', '--mode', 'replicated', '--restart-max-attempts', '3');
    expect(made).toMatchObject({ status: 0, err: '' });
    expect(made.out).toMatch(
      /^service +web\nmode +replicated\nkeeps of a slot +5 old tasks \(the cluster's\)\nrestart attempts +3\n/,
    );
    await berth('service', 'set', 'web', '--history-limit', '1');
    expect(await parsed('service', 'list')).toMatchObject({
      historyLimit: 5,
      services: [{ serviceId: 'web', mode: 'replicated', restartMaxAttempts: 3, historyLimit: 1 }],
    });
    await berth('service', 'set', 'web', '--history-limit', 'default');
    expect((await parsed('service', 'list')).services[0]).not.toHaveProperty('historyLimit');
    const removed = await berth('service', 'remove', 'web');
    expect(removed.out).toMatch(/^removed; its tasks go with sweep \w+\n$/);
    expect((await berth('service', 'list')).out).toMatch(/web +replicated .* 20\d\d-.*Z\n/);
  });

  it('lists beside what cannot be read, says so, and sets that anew', async () => {
    const { client, tables } = bed.database;
    const odd = marshall({ serviceId: 'odd', mode: 'sideways' });
    await client.send(new PutItemCommand({ TableName: tables.services, Item: odd }));
    expect((await berth('service', 'list')).out).toMatch(
      /\nmalformed: service odd: not of its shape, .*berth service set odd/,
    );
    expect(await parsed('service', 'list')).toMatchObject({ malformed: [{ key: 'service odd' }] });
    expect(await berth('service', 'set', 'odd', '--mode', 'global')).toMatchObject({ status: 0, err: '' });
    expect((await berth('service', 'list')).out).not.toContain('malformed');
    await berth('service', 'remove', 'odd');
  });

  it('sets and shows what the cluster keeps', async () => {
    expect((await berth('service', 'default')).out).toBe('a slot keeps  5 old tasks\n');
    expect((await berth('service', 'default', '--history-limit', '-1')).out).toBe('a slot keeps  all old tasks\n');
    expect((await berth('service', 'default', '--history-limit', '1')).out).toMatch(
      /^a slot keeps +1 old task\nsweep +\w+\n$/,
    );
    expect(await parsed('service', 'default', '--history-limit', 'default')).toMatchObject({ historyLimit: 5 });
  });

  it('scales slots away', async () => {
    expect(await parsed('service', 'scale', 'web', '--away', '4-9,12')).toMatchObject({
      away: [
        [4, 9],
        [12, 12],
      ],
    });
  });

  it.each([
    [['set', 'web', '--mode', 'swarm'], /One of replicated, global, replicated-job, global-job is expected/],
    [['set', 'web', '--mode', 'global', '--history-limit', 'many'], /A whole number is expected, or `default`/],
    [['set', 'we#b', '--mode', 'global'], /serviceId: expected a text of 1 to 128 characters/],
    [['scale', 'web'], /required option '--away <slots>' not specified/],
    [['scale', 'web', '--away', 'all'], /Numbers of slots and ranges are expected, as in 4-9,12/],
    [['scale', 'web', '--away', '9-4'], /the smaller first/],
  ])('refuses nonsense: %j', async (words, message) => {
    const ran = await berth('service', ...words);
    expect(ran).toMatchObject({ status: 2, out: '' });
    expect(ran.err).toMatch(message);
  });
});

describe('berth sweep and berth task history', () => {
  const task = (taskId: string) => ({ taskId, serviceId: 'api', slot: 1, nodeId: 'n1' });

  it('say what is kept of a slot and why, and bring it to its limit', async () => {
    for (const [at, taskId] of ['t1', 't2', 't3'].entries()) {
      const stops = at > 0 ? [task(`t${at}`)] : [];
      await bed.berth.push({ planId: `plan-${taskId}`, pool: 'prod', placements: [task(taskId)], stops });
      await bed.applyWaiting();
      if (at > 0) await bed.berth.reportTask(task(`t${at}`), { state: 'shutdown' });
    }
    expect((await berth('task', 'history', 'api#1')).out).toMatch(
      /t1 .* stays .*never set[\s\S]*keeps its whole history\n$/,
    );
    await berth('service', 'set', 'api', '--mode', 'replicated', '--history-limit', '1');
    const before = await berth('task', 'history', 'api#1');
    expect(before.out).toMatch(
      /^TASK +STATE[^\n]*\nt1 +shutdown +shutdown +20\S+Z +goes +it is old, and beyond what its slot keeps\n/,
    );
    expect(before.out).toMatch(/the slot keeps 1 old tasks?\n$/);

    const ran = await swept('sweep');
    expect(ran).toMatchObject({ status: 0, err: '' });
    expect(ran.out).toMatch(
      /^sweep +\w+\nreason +request\nbegun +20\S+Z\ndone +20\S+Z\nslots +\d+\ntasks +\d+\ndeleted +\d+\n/,
    );
    const { tasks } = await parsed('task', 'history', 'api#1');
    expect(tasks.map((one: { task: { taskId: string } }) => one.task.taskId)).toEqual(['t2', 't3']);
  });

  it('tell of a page that was given up, waiting or not, in place of waiting for it', async () => {
    const giveUp = (sweepId: string, page: number) => {
      const MessageBody = JSON.stringify({
        apiVersion: 'berth/v1',
        kind: 'SweepPage',
        sweepId,
        reason: 'request',
        page,
      });
      return bed.sqs.send(new SendMessageCommand({ QueueUrl: bed.queues.reaperFailures, MessageBody }));
    };
    const { sweepId } = await parsed('sweep', '--no-wait');
    await giveUp(sweepId, 0);
    expect(await berth('sweep', '--show', sweepId)).toMatchObject({
      ...{ status: 1, out: '' },
      err: expect.stringMatching(/^berth: page 0 of sweep \w+ failed 8 times and lies in the failure queue/),
    });
    await sweepWaiting(bed);
    expect(await berth('sweep', '--show', sweepId)).toMatchObject({ status: 0, err: '' });
  });

  it('begin a sweep without waiting, and show how it went', async () => {
    const { sweepId } = await parsed('sweep', '--no-wait');
    expect(await berth('sweep', '--show', sweepId)).toMatchObject({
      ...{ status: 1, out: '' },
      err: expect.stringContaining(`there is no record of sweep ${sweepId}: none of its pages is done yet`),
    });
    await sweepWaiting(bed);
    expect((await berth('sweep', '--show', sweepId)).out).toMatch(/^sweep +\w+\nreason +request\n/);
  });

  it('refuse what is no slot', async () => {
    expect(await berth('task', 'history', 'api')).toMatchObject({
      status: 2,
      err: expect.stringMatching(/expected service#number, or service@node for a global service, got "api"/),
    });
    expect((await berth('task', 'history', 'none#1')).out).toMatch(/^there is no task in slot none#1/);
  });
});
