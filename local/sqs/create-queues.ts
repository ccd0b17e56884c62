import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  QueueNameExists,
  SetQueueAttributesCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { DeclaredQueue } from '../template/queues.ts';

/** Where a queue is. */
export interface CreatedQueue {
  readonly name: string;
  readonly url: string;
}

/** Creates what is missing of `queues`, in their order, and brings the attributes of the others up to date. */
export async function createQueues(client: SQSClient, queues: readonly DeclaredQueue[]): Promise<CreatedQueue[]> {
  const created: CreatedQueue[] = [];
  // Another SQS may have an account and region of its own in its ARNs.
  const arns = new Map<string, string>();
  for (const queue of queues) {
    const attributes = { ...queue.attributes };
    if (attributes.RedrivePolicy !== undefined && queue.deadLetterArn !== undefined) {
      const actual = arns.get(queue.deadLetterArn) ?? queue.deadLetterArn;
      attributes.RedrivePolicy = attributes.RedrivePolicy.replace(queue.deadLetterArn, actual);
    }
    const url = await createQueue(client, queue.name, attributes);
    const { Attributes } = await client.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] }),
    );
    arns.set(queue.arn, Attributes?.QueueArn ?? queue.arn);
    created.push({ name: queue.name, url });
  }
  return created;
}

async function createQueue(client: SQSClient, name: string, attributes: Record<string, string>): Promise<string> {
  try {
    const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
    return QueueUrl ?? '';
  } catch (error) {
    if (!(error instanceof QueueNameExists)) throw error;
    const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName: name }));
    // Whether a queue is FIFO cannot be changed, nor be mentioned here.
    const { FifoQueue: _, ...changeable } = attributes;
    await client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: changeable }));
    return QueueUrl ?? '';
  }
}
