import * as z from 'zod/mini';
import { PLATFORM } from '../../lib/settings.ts';

/** What is set on a queue. Times in seconds. */
export interface QueueSettings {
  readonly fifo: boolean;
  readonly visibilitySeconds: number;
  readonly retentionSeconds: number;
  readonly delaySeconds: number;
  /** How long a receive that does not say so itself waits for a message. */
  readonly receiveWaitSeconds: number;
  /** Bytes of one message, attributes included. */
  readonly maximumMessageBytes: number;
  /** The SHA-256 of the body serves as deduplication id where none is given. */
  readonly contentBasedDeduplication: boolean;
  readonly deduplicationScope: 'queue' | 'messageGroup';
  readonly throughputLimit: 'perQueue' | 'perMessageGroupId';
  readonly redrive?: { readonly deadLetterTargetArn: string; readonly maxReceiveCount: number } | undefined;
}

const DAY = 24 * 60 * 60;

/** A number in a text, as all attributes are texts. */
function number(min: number, max: number, byDefault: number) {
  const expected = `expected a whole number from ${min} to ${max}`;
  const inBounds = (text: string) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max;
  return z.pipe(
    z._default(z.string().check(z.refine(inBounds, expected)), String(byDefault)),
    z.transform((text) => Number(text)),
  );
}

function oneOf<const T extends readonly [string, ...string[]]>(...values: T) {
  return z._default(z.enum(values, `expected ${values.join(' or ')}`), values[0]);
}

const flag = z.pipe(
  oneOf('false', 'true'),
  z.transform((value) => value === 'true'),
);

const redrivePolicy = z.pipe(
  z.transform((text: unknown) => parseJson(String(text))),
  z.strictObject(
    {
      deadLetterTargetArn: z.string(),
      maxReceiveCount: z.coerce.number().check(z.int(), z.gte(1), z.lte(1000)),
    },
    'expected JSON with deadLetterTargetArn and maxReceiveCount, 1 to 1000',
  ),
);

/** Attributes by their names in the SQS API, with its defaults and bounds. Source: `CreateQueue`. */
const queueAttributes = z.strictObject({
  FifoQueue: flag,
  VisibilityTimeout: number(0, 12 * 60 * 60, 30),
  MessageRetentionPeriod: number(60, 14 * DAY, 4 * DAY),
  DelaySeconds: number(0, 15 * 60, 0),
  ReceiveMessageWaitTimeSeconds: number(0, 20, 0),
  MaximumMessageSize: number(1024, PLATFORM.messageBytes, PLATFORM.messageBytes),
  ContentBasedDeduplication: flag,
  DeduplicationScope: oneOf('queue', 'messageGroup'),
  FifoThroughputLimit: oneOf('perQueue', 'perMessageGroupId'),
  RedrivePolicy: z.optional(redrivePolicy),
  // Accepted and without effect here: encryption and who may do what.
  SqsManagedSseEnabled: z.optional(z.string()),
  KmsMasterKeyId: z.optional(z.string()),
  KmsDataKeyReusePeriodSeconds: z.optional(z.string()),
  Policy: z.optional(z.string()),
  RedriveAllowPolicy: z.optional(z.string()),
});

/** Without it zod/mini only says "Invalid input" where no text stands above. */
const IN_ENGLISH = { error: z.locales.en().localeError };

/** An attribute of a queue that is unknown or out of its bounds. */
export class QueueAttributeError extends Error {
  override readonly name = 'QueueAttributeError';
}

/**
 * The settings of the queue `name`, from attributes as `CreateQueue` takes them.
 *
 * @throws QueueAttributeError naming the attribute
 */
export function settingsFromAttributes(name: string, attributes: Readonly<Record<string, string>>): QueueSettings {
  const parsed = queueAttributes.safeParse(attributes, IN_ENGLISH);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'attributes'}: ${issue.message}`);
    throw new QueueAttributeError(`queue ${name}: ${problems.join('; ')}`);
  }
  const it = parsed.data;
  if (it.FifoQueue !== name.endsWith('.fifo')) {
    throw new QueueAttributeError(`queue ${name}: the name of a FIFO queue, and of no other, ends in .fifo`);
  }
  if (it.FifoThroughputLimit === 'perMessageGroupId' && it.DeduplicationScope !== 'messageGroup') {
    throw new QueueAttributeError(
      `queue ${name}: FifoThroughputLimit perMessageGroupId needs DeduplicationScope messageGroup`,
    );
  }
  return {
    fifo: it.FifoQueue,
    visibilitySeconds: it.VisibilityTimeout,
    retentionSeconds: it.MessageRetentionPeriod,
    delaySeconds: it.DelaySeconds,
    receiveWaitSeconds: it.ReceiveMessageWaitTimeSeconds,
    maximumMessageBytes: it.MaximumMessageSize,
    contentBasedDeduplication: it.ContentBasedDeduplication,
    deduplicationScope: it.DeduplicationScope,
    throughputLimit: it.FifoThroughputLimit,
    redrive: it.RedrivePolicy,
  };
}

/** The settings under their names in the SQS API. */
export function attributesFromSettings(settings: QueueSettings): Record<string, string> {
  return {
    VisibilityTimeout: String(settings.visibilitySeconds),
    MessageRetentionPeriod: String(settings.retentionSeconds),
    DelaySeconds: String(settings.delaySeconds),
    ReceiveMessageWaitTimeSeconds: String(settings.receiveWaitSeconds),
    MaximumMessageSize: String(settings.maximumMessageBytes),
    ...(settings.fifo && {
      FifoQueue: 'true',
      ContentBasedDeduplication: String(settings.contentBasedDeduplication),
      DeduplicationScope: settings.deduplicationScope,
      FifoThroughputLimit: settings.throughputLimit,
    }),
    ...(settings.redrive && { RedrivePolicy: JSON.stringify(settings.redrive) }),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
