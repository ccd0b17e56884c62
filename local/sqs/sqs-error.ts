/** Codes of the older query protocol, by which clients know these errors too; the others are the same in both. */
const QUERY_CODES: Readonly<Record<string, string>> = {
  QueueDoesNotExist: 'AWS.SimpleQueueService.NonExistentQueue',
  QueueNameExists: 'QueueAlreadyExists',
  BatchEntryIdsNotDistinct: 'AWS.SimpleQueueService.BatchEntryIdsNotDistinct',
  BatchRequestTooLong: 'AWS.SimpleQueueService.BatchRequestTooLong',
  EmptyBatchRequest: 'AWS.SimpleQueueService.EmptyBatchRequest',
  InvalidBatchEntryId: 'AWS.SimpleQueueService.InvalidBatchEntryId',
  MessageNotInflight: 'AWS.SimpleQueueService.MessageNotInflight',
  TooManyEntriesInBatchRequest: 'AWS.SimpleQueueService.TooManyEntriesInBatchRequest',
  UnsupportedOperation: 'AWS.SimpleQueueService.UnsupportedOperation',
};

/** An answer of the SQS API that is the caller's fault; `code` is the name of the error's shape. */
export class SqsError extends Error {
  override readonly name = 'SqsError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }

  get queryCode(): string {
    return QUERY_CODES[this.code] ?? this.code;
  }
}
