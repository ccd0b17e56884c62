/** A receipt handle names its message, so that a handle of a message that is gone can be told from one never given out. */
export function encodeReceiptHandle(messageId: string, unique: string): string {
  return Buffer.from(`${messageId} ${unique}`).toString('base64url');
}

/** The id of the message, or undefined when `receiptHandle` is none of ours. */
export function messageIdOf(receiptHandle: string): string | undefined {
  const [messageId, unique] = Buffer.from(receiptHandle, 'base64url').toString().split(' ');
  return messageId !== undefined && unique !== undefined ? messageId : undefined;
}
