import {
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  PurgeQueueCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { FIFO, ServerTestBed } from './server-test-bed.ts';

const bed = ServerTestBed.use();

describe('queues', () => {
  test('have a URL at this server, found by name, and are listed', async () => {
    expect(bed.fifo).toBe(`${bed.server.url}/000000000000/plans.fifo`);
    expect((await bed.sqs.send(new GetQueueUrlCommand({ QueueName: 'plans.fifo' }))).QueueUrl).toBe(bed.fifo);
    expect((await bed.sqs.send(new ListQueuesCommand())).QueueUrls).toEqual([bed.fifo, bed.standard]);
    expect((await bed.sqs.send(new ListQueuesCommand({ QueueNamePrefix: 'qua' }))).QueueUrls).toEqual([bed.standard]);
  });

  test('tell their attributes, by name or all', async () => {
    const all = await bed.sqs.send(new GetQueueAttributesCommand({ QueueUrl: bed.fifo, AttributeNames: ['All'] }));
    expect(all.Attributes).toMatchObject({
      QueueArn: 'arn:aws:sqs:eu-central-1:000000000000:plans.fifo',
      VisibilityTimeout: '30',
      MessageRetentionPeriod: '345600',
      MaximumMessageSize: '1048576',
      ...FIFO,
    });
    const one = await bed.sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: bed.fifo, AttributeNames: ['VisibilityTimeout'] }),
    );
    expect(one.Attributes).toEqual({ VisibilityTimeout: '30' });
  });

  test('are made once: the same again is no error, other attributes are one, and can be set', async () => {
    expect(await bed.create('plans.fifo', FIFO)).toBe(bed.fifo);
    await expect(bed.create('plans.fifo', { ...FIFO, VisibilityTimeout: '10' })).rejects.toThrow(
      expect.objectContaining({ name: 'QueueNameExists' }),
    );
    await bed.sqs.send(new SetQueueAttributesCommand({ QueueUrl: bed.fifo, Attributes: { VisibilityTimeout: '10' } }));
    const { Attributes } = await bed.sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: bed.fifo, AttributeNames: ['All'] }),
    );
    expect(Attributes).toMatchObject({ VisibilityTimeout: '10', ...FIFO });
  });

  test.each([
    { name: 'a.fifo', attributes: {}, message: 'ends in .fifo' },
    { name: 'a', attributes: { FifoQueue: 'true' }, message: 'ends in .fifo' },
    { name: 'a', attributes: { VisibilityTimeout: '43201' }, message: 'VisibilityTimeout: expected a whole number' },
    { name: 'a', attributes: { VisibilityTimeout: 'x' }, message: 'VisibilityTimeout: expected a whole number' },
    { name: 'a', attributes: { Nonsense: '1' }, message: 'Nonsense' },
    { name: 'a', attributes: { RedrivePolicy: 'x' }, message: 'RedrivePolicy: expected JSON' },
    {
      name: 'a.fifo',
      attributes: { FifoQueue: 'true', FifoThroughputLimit: 'perMessageGroupId' },
      message: 'needs DeduplicationScope messageGroup',
    },
    {
      name: 'a',
      attributes: {
        RedrivePolicy: '{"deadLetterTargetArn":"arn:aws:sqs:eu-central-1:000000000000:plans.fifo","maxReceiveCount":1}',
      },
      message: 'must be another queue that exists and is standard',
    },
  ])('are not made as $name with $attributes', async ({ name, attributes, message }) => {
    await expect(bed.create(name, attributes)).rejects.toThrow(message);
  });

  test('that do not exist are the error that clients know', async () => {
    await expect(bed.send('x', { QueueUrl: `${bed.fifo}x` })).rejects.toThrow(
      expect.objectContaining({ name: 'QueueDoesNotExist', Code: 'AWS.SimpleQueueService.NonExistentQueue' }),
    );
  });

  test('can be purged', async () => {
    await bed.send('x');
    await bed.sqs.send(new PurgeQueueCommand({ QueueUrl: bed.fifo }));
    expect(await bed.counts()).toEqual(['0', '0']);
  });
});

describe('what is not understood is refused', () => {
  test.each([
    { what: 'another operation', target: 'AmazonSQS.AddPermission', body: '{}', error: 'UnsupportedOperation' },
    { what: 'another protocol', target: undefined, body: 'Action=SendMessage', error: 'UnsupportedOperation' },
    { what: 'what is not JSON', target: 'AmazonSQS.SendMessage', body: '{', error: 'InvalidParameterValue' },
  ])('$what', async ({ target, body, error }) => {
    const headers = target === undefined ? undefined : { 'x-amz-target': target };
    const response = await fetch(bed.server.url, { method: 'POST', body, ...(headers && { headers }) });
    expect(response.status).toBe(400);
    expect(response.headers.get('x-amzn-query-error')).toMatch(new RegExp(`${error};Sender$`));
    expect(await response.json()).toMatchObject({ __type: `com.amazonaws.sqs#${error}` });
  });
});
