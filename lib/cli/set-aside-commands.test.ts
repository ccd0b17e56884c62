import { PassThrough } from 'node:stream';
import { ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { berthCommand } from '../../test/support/command.ts';
import { quarantine } from '../store/queue.ts';

let bed: BerthBed;
beforeAll(async () => {
  bed = await startBerthBed();
});
afterAll(() => bed.stop());

const berth = (...words: string[]) => berthCommand(bed.env, words);

it('berth quarantine lists, shows, redrives and discards messages', async () => {
  const origin = { group: 'prod', source: 'arn:plans', messageId: 'm1' };
  await quarantine(bed.sqs, bed.queues.quarantine, '{"planId":"x"}', { ...origin, reason: 'it is stuck' });
  await quarantine(bed.sqs, bed.queues.quarantine, 'nonsense', { ...origin, reason: 'it is not JSON' });

  const list = await berth('quarantine', 'list');
  expect(list.status).toBe(0);
  expect(list.out).toMatch(
    /^MESSAGE +POOL +PLAN +SINCE +BYTES +REASON\n\S+ +prod +x +\S+ +14 +it is stuck\n\S+ +prod +- +\S+ +8 +it is not JSON\n$/,
  );
  const messages: { messageId: string }[] = JSON.parse((await berth('quarantine', 'list', '--json')).out);
  const [stuck, nonsense] = messages.map(({ messageId }) => messageId) as [string, string];
  expect((await berth('quarantine', 'show', nonsense)).out).toMatch(/reason +it is not JSON\n.*\n\nnonsense\n$/s);
  expect(await berth('quarantine', 'show', 'nobody')).toMatchObject({
    ...{ status: 1, err: expect.stringMatching(/nobody is not among the first 100 of quarantine/) },
  });

  expect(await berth('quarantine', 'redrive')).toMatchObject({
    status: 2,
    err: expect.stringMatching(/which messages/),
  });
  expect(await berth('quarantine', 'redrive', stuck, 'nobody')).toMatchObject({
    ...{ status: 3, out: expect.stringMatching(/^redrove 1 message\nnobody: it is not among the messages/) },
  });
  const { Messages } = await bed.sqs.send(new ReceiveMessageCommand({ QueueUrl: bed.queues.plans }));
  expect(Messages?.map(({ Body }) => Body)).toEqual(['{"planId":"x"}']);
  expect(await berth('quarantine', 'discard', nonsense)).toMatchObject({ status: 0, out: 'discarded 1 message\n' });
  expect(await berth('quarantine', 'list')).toMatchObject({ status: 0, out: 'quarantine: nothing\n' });
});

it('berth dead-letters redrives plans, and not a second time unless told to', async () => {
  await bed.sqs.send(
    new SendMessageCommand({
      ...{ QueueUrl: bed.queues.plansDead, MessageBody: '{"planId":"y"}' },
      ...{ MessageGroupId: 'batch', MessageDeduplicationId: 'y' },
      MessageAttributes: { redrivenAt: { DataType: 'String', StringValue: '2026-03-01T12:00:00.000Z' } },
    }),
  );
  expect((await berth('dead-letters', 'list')).out).toMatch(/batch +y .*received too often, redriven at 2026-03-01/);
  expect(await berth('dead-letters', 'redrive', '--all')).toMatchObject({
    ...{ status: 3, out: expect.stringMatching(/^redrove 0 messages\n\S+: it was redriven before/) },
  });
  expect(await berth('dead-letters', 'redrive', '--all', '--again')).toMatchObject({ status: 0 });
  expect((await berth('dead-letters', 'list')).out).toBe('dead-letters: nothing\n');
});

describe('a message by the id of its plan', () => {
  const send = async (planId: string, text: string) => {
    const origin = { group: 'prod', source: 'arn:plans', messageId: text };
    await quarantine(bed.sqs, bed.queues.quarantine, JSON.stringify({ planId, text }), { ...origin, reason: 'stuck' });
  };
  const idsOf = async (): Promise<string[]> =>
    JSON.parse((await berth('quarantine', 'list', '--json')).out).map(
      ({ messageId }: { messageId: string }) => messageId,
    );

  it('is shown, redriven and discarded where it is the only one', async () => {
    for (const planId of ['one', 'two']) await send(planId, planId);
    expect((await berth('quarantine', 'show', 'two')).out).toMatch(/\nplan +two\n/);
    expect(await berth('quarantine', 'redrive', 'two')).toMatchObject({ status: 0, out: 'redrove 1 message\n' });
    expect(await berth('quarantine', 'discard', 'one')).toMatchObject({ status: 0, out: 'discarded 1 message\n' });
    expect(await idsOf()).toEqual([]);
  });

  it('is left where nobody can say which is meant', async () => {
    for (const text of ['a', 'b']) await send('same', text);
    const ids = await idsOf();
    const refused = await berth('quarantine', 'redrive', 'same');
    expect(refused.status).toBe(3);
    expect(refused.out).toMatch(/^redrove 0 messages\nsame: 2 messages are of that plan: name the one that is meant/);
    for (const id of ids) expect(refused.out).toContain(id);
    expect(await berth('quarantine', 'discard', 'same')).toMatchObject({ status: 3 });
    expect(await idsOf()).toEqual(ids);
    expect(await berth('quarantine', 'discard', ...ids)).toMatchObject({ status: 0, out: 'discarded 2 messages\n' });
  });
});

describe('berth dead-letters discard', () => {
  const letter = async (body: object | string) => {
    const { MessageId = '' } = await bed.sqs.send(
      new SendMessageCommand({
        ...{ QueueUrl: bed.queues.plansDead, MessageBody: typeof body === 'string' ? body : JSON.stringify(body) },
        ...{ MessageGroupId: 'night', MessageDeduplicationId: `d${sent++}` },
      }),
    );
    return MessageId;
  };
  const planOf = (planId: string) => ({
    ...{ planId, pool: 'night' },
    placements: [{ taskId: `${planId}-t`, serviceId: 'web', slot: sent, nodeId: 'n1' }],
  });
  let sent = 0;
  beforeAll(async () => {
    await bed.berth.registerPool({ pool: 'night' });
    await bed.berth.registerNode({ pool: 'night', nodeId: 'n1', capacity: { cpu: 10 } });
    await bed.berth.push(planOf('ended'));
    await bed.applyWaiting();
  });

  it('gives plans up, says what has become of each, and leaves what is no plan unless told to', async () => {
    const [ended, waits, nonsense] = [await letter(planOf('ended')), await letter(planOf('waits')), await letter('x')];
    const ran = await berth('dead-letters', 'discard', '--all', '--yes');
    expect(ran).toMatchObject({ status: 3, err: '' });
    expect(ran.out.split('\n')).toEqual([
      'discarded 2 messages',
      `${ended}: plan ended had its result: applied`,
      `${waits}: plan waits was given up: rejected, nothing of it was committed`,
      expect.stringMatching(new RegExp(`^${nonsense}: it is no plan: .*; redrive sends it to the quarantine, force`)),
      '',
    ]);
    expect(await berth('dead-letters', 'discard', nonsense, '--yes', '--force')).toMatchObject({
      ...{ status: 0, out: `discarded 1 message\n${nonsense}: no plan\n` },
    });
    expect(JSON.parse((await berth('dead-letters', 'discard', 'gone', '--yes', '--json')).out)).toMatchObject([
      { messageId: 'gone', stored: false, refusal: expect.stringMatching(/not among/) },
    ]);
  });

  it('asks first, and does nothing without a yes', async () => {
    const id = await letter(planOf('asked'));
    const asked = (answer: string) => berthCommand(bed.env, ['dead-letters', 'discard', id], answer, new PassThrough());
    for (const answer of ['n\n', '\n', '', 'yesterday\n']) {
      expect(await asked(answer)).toEqual({
        ...{ status: 3, out: '' },
        err: 'give up 1 message, for good? [y/N] nothing was done\n',
      });
    }
    expect(await berth('dead-letters', 'discard', id)).toMatchObject({
      ...{ status: 2, err: expect.stringMatching(/nobody is there to be asked: give up 1 message.*--yes/) },
    });
    expect(await berth('dead-letters', 'discard', '--yes')).toMatchObject({ status: 2 });
    expect(await bed.berth.result('asked')).toBeUndefined();
    const byPlan = ['dead-letters', 'discard', 'asked'];
    expect(await berthCommand(bed.env, byPlan, 'Yes\n', new PassThrough())).toMatchObject({
      ...{ status: 0, out: expect.stringMatching(new RegExp(`^discarded 1 message\n${id}: plan asked was given up`)) },
    });
    expect((await berth('dead-letters', 'list')).out).toBe('dead-letters: nothing\n');
  });

  it('of all asks how many, or says that there is nothing', async () => {
    const all = (answer: string) =>
      berthCommand(bed.env, ['dead-letters', 'discard', '--all'], answer, new PassThrough());
    expect(await all('')).toEqual({ status: 0, err: '', out: 'dead-letters: nothing\n' });
    expect(await berth('dead-letters', 'discard', '--all', '--yes')).toMatchObject({ out: 'dead-letters: nothing\n' });
    for (const text of ['x', 'y']) await letter(text);
    expect((await all('n\n')).err).toBe('give up all messages (2 can be seen now), for good? [y/N] nothing was done\n');
    expect(await berth('dead-letters', 'discard', '--all', '--yes', '--force')).toMatchObject({ status: 0 });
  });
});
