import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageCommand,
  type SendMessageCommandInput,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, beforeEach } from 'vitest';
import { Queues } from './queues.ts';
import { type SqsServer, startSqsServer } from './server.ts';

export const MIB = 1024 * 1024;
/** Attributes of the queue `plans.fifo`. */
export const FIFO = { FifoQueue: 'true', DeduplicationScope: 'messageGroup', FifoThroughputLimit: 'perMessageGroupId' };

/** A server with the queues `plans.fifo` and `quarantine`, and a client of it. */
export class ServerTestBed {
  server!: SqsServer;
  sqs!: SQSClient;
  /** URL of the queue `plans.fifo`. */
  fifo = '';
  /** URL of the queue `quarantine`. */
  standard = '';
  #queues!: Queues;

  /** Makes one for every test of the file, and ends what it started. */
  static use(): ServerTestBed {
    const bed = new ServerTestBed();
    beforeEach(() => bed.start());
    afterEach(() => bed.stop());
    return bed;
  }

  async start(): Promise<void> {
    this.#queues = await Queues.open({ region: 'eu-central-1', account: '000000000000' });
    this.server = await startSqsServer(this.#queues);
    this.sqs = new SQSClient({ endpoint: this.server.url });
    this.fifo = await this.create('plans.fifo', FIFO);
    this.standard = await this.create('quarantine', {});
  }

  async stop(): Promise<void> {
    this.sqs.destroy();
    await this.server.close();
    this.#queues.close();
  }

  /** Makes a queue; its URL. */
  async create(name: string, attributes: Record<string, string>): Promise<string> {
    const { QueueUrl } = await this.sqs.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
    return QueueUrl as string;
  }

  /** Sends to `plans.fifo`, in the group `a`, under a deduplication id from the beginning of the body. */
  send(body: string, more: Partial<SendMessageCommandInput> = {}) {
    const ids = { MessageGroupId: 'a', MessageDeduplicationId: encodeURIComponent(body.slice(0, 10)) };
    return this.sqs.send(new SendMessageCommand({ QueueUrl: this.fifo, MessageBody: body, ...ids, ...more }));
  }

  /** Receives from `plans.fifo`. */
  async receive(more: Partial<ReceiveMessageCommandInput> = {}): Promise<Message[]> {
    const input = { QueueUrl: this.fifo, MaxNumberOfMessages: 10, ...more };
    const { Messages = [] } = await this.sqs.send(new ReceiveMessageCommand(input));
    return Messages;
  }

  /** How many messages of `plans.fifo` are visible, and how many in flight. */
  async counts(): Promise<unknown[]> {
    const look = new GetQueueAttributesCommand({ QueueUrl: this.fifo, AttributeNames: ['All'] });
    const { Attributes = {} } = await this.sqs.send(look);
    return [Attributes.ApproximateNumberOfMessages, Attributes.ApproximateNumberOfMessagesNotVisible];
  }
}
