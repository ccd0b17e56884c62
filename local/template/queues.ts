import * as z from 'zod/mini';
import { type Declared, type Resources, withoutHash } from './scope.ts';

/** A queue as the template declares it. */
export interface DeclaredQueue {
  readonly declared: Declared;
  readonly name: string;
  readonly arn: string;
  /** As `CreateQueue` takes them. */
  readonly attributes: Readonly<Record<string, string>>;
  /** ARN of its dead-letter queue. */
  readonly deadLetterArn?: string | undefined;
}

const redrivePolicy = z.strictObject({
  deadLetterTargetArn: z.string(),
  maxReceiveCount: z.union([z.number(), z.string()]),
});

const properties = z.strictObject({
  QueueName: z.optional(z.string()),
  FifoQueue: z.optional(z.boolean()),
  ContentBasedDeduplication: z.optional(z.boolean()),
  DeduplicationScope: z.optional(z.string()),
  FifoThroughputLimit: z.optional(z.string()),
  VisibilityTimeout: z.optional(z.number()),
  MessageRetentionPeriod: z.optional(z.number()),
  DelaySeconds: z.optional(z.number()),
  ReceiveMessageWaitTimeSeconds: z.optional(z.number()),
  MaximumMessageSize: z.optional(z.number()),
  RedrivePolicy: z.optional(redrivePolicy),
});

const IGNORED = [
  'KmsDataKeyReusePeriodSeconds',
  'KmsMasterKeyId',
  'RedriveAllowPolicy',
  'SqsManagedSseEnabled',
  'Tags',
];

/**
 * The queues of the template, each behind its dead-letter queue, as they must be created. Defines their `Arn` and
 * `QueueName`; their `Ref` is a URL, known once they are created.
 *
 * @param visibilitySeconds in place of the visibility time-out of every queue
 */
export function declaredQueues(resources: Resources, visibilitySeconds?: number): DeclaredQueue[] {
  const named = resources.ofType('AWS::SQS::Queue').map((declared) => {
    const given = declared.resource.Properties ?? {};
    const fallback = `${declared.stack.name}-${withoutHash(declared.logicalId)}${given.FifoQueue === true ? '.fifo' : ''}`;
    const name = typeof given.QueueName === 'string' ? given.QueueName : fallback;
    const arn = `arn:aws:sqs:${resources.place.region}:${resources.place.account}:${name}`;
    // Before any is read: a queue refers to its dead-letter queue wherever that stands.
    resources.define(declared, { attributes: { Arn: arn, QueueName: name } });
    return { declared, name, arn };
  });
  const queues = named.map(({ declared, name, arn }) => {
    const { QueueName: _, RedrivePolicy, ...rest } = resources.properties(declared, properties, IGNORED);
    const attributes: Record<string, string> = {};
    for (const [attribute, value] of Object.entries(rest)) {
      // FIFO attributes that are off are left out: a standard queue refuses even `false`.
      if (value !== undefined && value !== false) attributes[attribute] = String(value);
    }
    if (RedrivePolicy !== undefined) attributes.RedrivePolicy = JSON.stringify(RedrivePolicy);
    if (visibilitySeconds !== undefined) attributes.VisibilityTimeout = String(visibilitySeconds);
    return { declared, name, arn, attributes, deadLetterArn: RedrivePolicy?.deadLetterTargetArn };
  });
  return deadLettersFirst(queues);
}

function deadLettersFirst(queues: readonly DeclaredQueue[]): DeclaredQueue[] {
  const ordered = new Set<DeclaredQueue>();
  const add = (queue: DeclaredQueue) => {
    const target = queues.find(({ arn }) => arn === queue.deadLetterArn);
    if (target !== undefined && target !== queue && !ordered.has(target)) add(target);
    ordered.add(queue);
  };
  for (const queue of queues) add(queue);
  return [...ordered];
}
