import * as z from 'zod/mini';
import { SqsError } from './sqs-error.ts';

/** What SQS lets stand in a message: the characters of XML 1.0. */
const FORBIDDEN_CHARACTER = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

/** The texts of errors are given here: without a locale zod/mini only says "Invalid input". */
const text = z.string('expected a text').check(z.minLength(1, 'expected a text that is not empty'));
const matching = (pattern: RegExp, expected: string) => z.string(expected).check(z.regex(pattern, expected));
const whole = (min: number, max: number) => {
  const expected = `expected a whole number from ${min} to ${max}`;
  return z.int(expected).check(z.gte(min, expected), z.lte(max, expected));
};
const names = z._default(z.array(text, 'expected a list of names'), []);
const attributes = z._default(z.record(z.string(), z.string('expected a text'), 'expected attributes by name'), {});

const queueUrl = text;
const receiptHandle = text;
const visibilityTimeout = whole(0, 43_200);
const token = matching(
  /^[A-Za-z0-9!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]{1,128}$/,
  'expected 1 to 128 letters, digits and punctuation',
);

const messageAttribute = z
  .strictObject(
    {
      DataType: matching(/^(String|Number|Binary)(\..+)?$/, 'expected String, Number or Binary'),
      StringValue: z.optional(text),
      BinaryValue: z.optional(text),
    },
    'expected DataType and StringValue or BinaryValue, and no lists',
  )
  .check(
    z.refine(
      (it) =>
        it.DataType.startsWith('Binary')
          ? it.BinaryValue !== undefined && it.StringValue === undefined
          : it.StringValue !== undefined && it.BinaryValue === undefined,
      'expected the one value that belongs to DataType',
    ),
  );

const messageAttributes = z._default(
  z
    .record(
      matching(/^[A-Za-z0-9_.-]{1,256}$/, 'expected a name of letters, digits and _ . -'),
      messageAttribute,
      'expected attributes by name',
    )
    .check(z.refine((it) => Object.keys(it).length <= 10, 'expected at most 10 attributes')),
  {},
);

const message = {
  MessageBody: text,
  MessageAttributes: messageAttributes,
  DelaySeconds: z.optional(whole(0, 900)),
  MessageGroupId: z.optional(token),
  MessageDeduplicationId: z.optional(token),
};

/** Entries of a batch are checked one by one: a bad one must not fail the others. */
const entries = z.array(
  z.looseObject({ Id: z.string('expected a text') }, 'expected an entry with an Id'),
  'expected a list of entries',
);

export const sendEntry = request(message);
export const deleteEntry = request({ ReceiptHandle: receiptHandle });
export const visibilityEntry = request({ ReceiptHandle: receiptHandle, VisibilityTimeout: visibilityTimeout });
export type SendEntry = z.infer<typeof sendEntry>;
export type BatchEntry = z.infer<typeof entries>[number];

function request<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? `unknown parameter ${issue.keys.join(', ')}` : 'expected a JSON object',
  });
}

/**
 * The requests that are answered, by operation. What SQS knows beside and this does not (system attributes sent along,
 * receive attempts that are repeated) is refused, not passed over.
 */
export const REQUESTS = {
  CreateQueue: request({
    QueueName: matching(
      /^[A-Za-z0-9_-]{1,75}(\.fifo)?$/,
      'expected letters, digits, _ and -, for a FIFO queue .fifo after',
    ),
    Attributes: attributes,
    tags: z.optional(z.unknown()),
  }),
  SetQueueAttributes: request({ QueueUrl: queueUrl, Attributes: attributes }),
  GetQueueUrl: request({ QueueName: text, QueueOwnerAWSAccountId: z.optional(text) }),
  GetQueueAttributes: request({ QueueUrl: queueUrl, AttributeNames: names }),
  ListQueues: request({
    QueueNamePrefix: z._default(z.string('expected a text'), ''),
    MaxResults: z.optional(whole(1, 1000)),
  }),
  PurgeQueue: request({ QueueUrl: queueUrl }),
  SendMessage: request({ QueueUrl: queueUrl, ...message }),
  SendMessageBatch: request({ QueueUrl: queueUrl, Entries: entries }),
  ReceiveMessage: request({
    QueueUrl: queueUrl,
    AttributeNames: names,
    MessageSystemAttributeNames: names,
    MessageAttributeNames: names,
    MaxNumberOfMessages: z._default(whole(1, 10), 1),
    VisibilityTimeout: z.optional(visibilityTimeout),
    WaitTimeSeconds: z.optional(whole(0, 20)),
  }),
  DeleteMessage: request({ QueueUrl: queueUrl, ReceiptHandle: receiptHandle }),
  DeleteMessageBatch: request({ QueueUrl: queueUrl, Entries: entries }),
  ChangeMessageVisibility: request({
    QueueUrl: queueUrl,
    ReceiptHandle: receiptHandle,
    VisibilityTimeout: visibilityTimeout,
  }),
  ChangeMessageVisibilityBatch: request({ QueueUrl: queueUrl, Entries: entries }),
} as const;

export type Operation = keyof typeof REQUESTS;
export type Request<O extends Operation> = z.infer<(typeof REQUESTS)[O]>;
/** @throws SqsError MissingParameter or InvalidParameterValue, naming what is wrong */
export function parseRequest<T>(schema: z.ZodMiniType<T>, input: unknown): T {
  const parsed = schema.safeParse(input, { reportInput: true });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const parameter = issue?.path.join('.') ?? '';
  if (parameter !== '' && issue?.code === 'invalid_type' && issue.input === undefined) {
    throw new SqsError('MissingParameter', `The request must contain the parameter ${parameter}.`);
  }
  throw new SqsError('InvalidParameterValue', `${parameter || 'request'}: ${issue?.message ?? 'invalid'}`);
}

/** @throws SqsError InvalidMessageContents */
export function checkContents(body: string): void {
  const at = body.search(FORBIDDEN_CHARACTER);
  if (at >= 0) {
    throw new SqsError('InvalidMessageContents', `the body has a character at ${at} that XML 1.0 does not allow`);
  }
}
