import {
  BatchGetItemCommand,
  type BatchGetItemCommandOutput,
  type DynamoDBClient,
  InternalServerError,
  type KeysAndAttributes,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { type Fault, type FaultScript, Mortal, noFaults } from './faults.ts';

/** A client of DynamoDB to which the faults of a script happen, in the form in which the real service tells of them. */
export interface FaultyClient {
  readonly client: DynamoDBClient;
  /** Names of the commands that were sent, in order, those included that a fault kept from arriving. */
  readonly requests: readonly string[];
  /** Settles when a fault has killed the process that uses this client. */
  readonly killed: Promise<'killed'>;
}

/** Puts `script` before `send` of `real`: above the SDK's own retries, so a fault is one that outlasted them. */
export function faultyClient(real: DynamoDBClient, script: FaultScript = noFaults): FaultyClient {
  const mortal = new Mortal();
  const requests: string[] = [];
  const send = async (command: object, ...rest: unknown[]): Promise<unknown> => {
    if (!mortal.alive) return mortal.kill();
    const name = command.constructor.name.replace(/Command$/, '');
    requests.push(name);
    const fault = script({ number: requests.length, name });
    const perform = (what: object = command) => (real.send as (...args: unknown[]) => Promise<unknown>)(what, ...rest);
    const answer = await (fault === undefined ? perform() : suffer(fault, command, perform, mortal));
    // Another request of this process may have ended it in between.
    return mortal.alive ? answer : mortal.kill();
  };
  const client = new Proxy(real, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
  return { client, requests, killed: mortal.ended };
}

async function suffer(
  fault: Fault,
  command: object,
  perform: (command?: object) => Promise<unknown>,
  mortal: Mortal,
): Promise<unknown> {
  if (typeof fault === 'object') {
    await fault.meanwhile();
    return perform();
  }
  switch (fault) {
    case 'conflict':
      throw conflict(command);
    case 'throttled':
      throw throttled();
    case 'partly-throttled':
      if (command instanceof TransactWriteItemsCommand) throw cancelled(command, THROTTLED);
      if (command instanceof BatchGetItemCommand) return leaveOut(command, perform);
      throw throttled();
    case 'nothing-processed':
      if (command instanceof BatchGetItemCommand)
        return { Responses: {}, UnprocessedKeys: command.input.RequestItems, $metadata: {} };
      throw throttled();
    case 'server-error':
      throw new InternalServerError({
        message: 'The request processing has failed',
        $metadata: { httpStatusCode: 500 },
      });
    case 'lost-before':
      throw timeout();
    case 'lost-after':
      await perform();
      throw timeout();
    case 'kill-before':
      return mortal.kill();
    case 'kill-after':
      await perform();
      return mortal.kill();
    case 'denied':
      throw Object.assign(new Error('not authorized to perform this'), { name: 'AccessDeniedException' });
  }
}

const CONFLICT = { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' };
const THROTTLED = {
  Code: 'ThrottlingError',
  Message: 'Throughput exceeds the current capacity of your table. DynamoDB is automatically scaling your table',
};

/** A transaction that `reason` at its last action has cancelled: the others stand in the reasons with the code None. */
function cancelled(command: TransactWriteItemsCommand, reason: { Code: string; Message: string }) {
  const others = (command.input.TransactItems ?? []).slice(1).map(() => ({ Code: 'None' }));
  const codes = [...others, reason].map(({ Code }) => Code).join(', ');
  return new TransactionCanceledException({
    message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    CancellationReasons: [...others, reason],
    $metadata: { httpStatusCode: 400 },
  });
}

/** Reads meet no conflicts, and a plain write meets one under another name than a transaction. */
function conflict(command: object): Error {
  if (command instanceof TransactWriteItemsCommand) return cancelled(command, CONFLICT);
  if (/Get|Query|Scan/.test(command.constructor.name)) return throttled();
  return new TransactionConflictException({ message: CONFLICT.Message, $metadata: { httpStatusCode: 400 } });
}

function throttled(): Error {
  return new ProvisionedThroughputExceededException({
    message: 'The level of configured provisioned throughput for the table was exceeded',
    ThrottlingReasons: [
      {
        reason: 'TableWriteKeyRangeThroughputExceeded',
        resource: 'arn:aws:dynamodb:us-east-1:000000000000:table/Nodes',
      },
    ],
    $metadata: { httpStatusCode: 400 },
  });
}

/** As the SDK's handler of requests words it. */
function timeout(): Error {
  return Object.assign(new Error('Connection timed out after 3000 ms'), { name: 'TimeoutError' });
}

/** Reads all keys but the last of each table, which come back as not processed. */
async function leaveOut(
  command: BatchGetItemCommand,
  perform: (command?: object) => Promise<unknown>,
): Promise<unknown> {
  const read: Record<string, KeysAndAttributes> = {};
  const left: Record<string, KeysAndAttributes> = {};
  for (const [table, request] of Object.entries(command.input.RequestItems ?? {})) {
    const keys = request.Keys ?? [];
    if (keys.length > 1) read[table] = { ...request, Keys: keys.slice(0, -1) };
    left[table] = { ...request, Keys: keys.slice(-1) };
  }
  if (Object.keys(read).length === 0) return { Responses: {}, UnprocessedKeys: left, $metadata: {} };
  const output = (await perform(new BatchGetItemCommand({ RequestItems: read }))) as BatchGetItemCommandOutput;
  return { ...output, UnprocessedKeys: left };
}
