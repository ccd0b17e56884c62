import { createServer } from 'node:net';
import {
  GetItemCommand,
  ProvisionedThroughputExceededException,
  ThrottlingException,
  TransactionCanceledException,
  TransactionInProgressException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { type Fault, faultAt } from '../../test/support/faults.ts';
import { faultyClient } from '../../test/support/faulty-client.ts';
import { dynamoClient } from './dynamo.ts';
import { BugError, type CancellationReason, cancellationReasons, isStoreError, storeError } from './errors.ts';

const named = (name: string, fields: object = {}) => Object.assign(new Error('the message'), { name, ...fields });

const cancelled = (...reasons: readonly (string | CancellationReason)[]) =>
  new TransactionCanceledException({
    message: 'Transaction cancelled, please refer cancellation reasons for specific reasons',
    CancellationReasons: reasons.map((reason) => (typeof reason === 'string' ? { Code: reason } : reason)) as never,
    $metadata: { httpStatusCode: 400 },
  });

describe('an exception', () => {
  it.each([
    ...['ConditionalCheckFailedException', 'TransactionConflictException', 'ReplicatedWriteConflictException'].map(
      (name) => [name, 'ConflictError'],
    ),
    ...['ProvisionedThroughputExceededException', 'ThrottlingException', 'RequestLimitExceeded'].map((name) => [
      name,
      'RetryError',
    ]),
    ...['LimitExceededException', 'TransactionInProgressException', 'InternalServerError', 'InternalFailure'].map(
      (name) => [name, 'RetryError'],
    ),
    ...['ServiceUnavailable', 'ServiceUnavailableException', 'RequestThrottled', 'KmsThrottled'].map((name) => [
      name,
      'RetryError',
    ]),
    ...['InvalidSignatureException', 'RequestExpired', 'ExpiredTokenException', 'ExpiredToken'].map((name) => [
      name,
      'RetryError',
    ]),
    ...['TimeoutError', 'RequestTimeout', 'AbortError', 'NetworkingError'].map((name) => [name, 'RetryError']),
    ...['ValidationException', 'ItemCollectionSizeLimitExceededException'].map((name) => [name, 'PermanentError']),
    ...['IdempotentParameterMismatchException', 'ResourceNotFoundException', 'AccessDeniedException'].map((name) => [
      name,
      'BugError',
    ]),
    ['UnrecognizedClientException', 'BugError'],
    ['AnExceptionOfTheFuture', 'BugError'],
    ['TypeError', 'BugError'],
  ])('%s is a %s', (name, kind) => {
    const original = named(name);
    const error = storeError(original);
    expect([error.name, error.cause]).toEqual([kind, original]);
    expect(error.message).toBe(`${name}: the message`);
  });

  it.each([
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
  ])('with the code %s is a RetryError', (code) => {
    expect(storeError(named('Error', { code })).name).toBe('RetryError');
  });

  it('of a host with several addresses that all refuse is a RetryError', () => {
    const refused = ['127.0.0.1', '::1'].map((address) => named('Error', { code: 'ECONNREFUSED', address }));
    expect(storeError(new AggregateError(refused, 'all refused')).name).toBe('RetryError');
    expect(storeError(new Error('request failed', { cause: new AggregateError(refused, 'all refused') })).name).toBe(
      'RetryError',
    );
  });

  it('that nobody knows is a RetryError only if the service says that it is to blame, or that it may pass', () => {
    expect(storeError(named('Unheard', { $metadata: { httpStatusCode: 503 } })).name).toBe('RetryError');
    expect(storeError(named('Unheard', { $retryable: {} })).name).toBe('RetryError');
    expect(storeError(named('Unheard', { $metadata: { httpStatusCode: 400 } })).name).toBe('BugError');
  });

  it.each(['a text', undefined, null, 7, {}])('that is no error at all, as %j, is a BugError', (thrown) => {
    expect(storeError(thrown).name).toBe('BugError');
  });

  it('whose name is that of a property of every object is a BugError', () => {
    expect(storeError(named('constructor')).name).toBe('BugError');
    expect(storeError(cancelled('toString')).name).toBe('BugError');
  });

  it('of ours comes back as it is', () => {
    const ours = new BugError('of ours');
    expect(storeError(ours)).toBe(ours);
    expect([isStoreError(ours), isStoreError(new Error('not of ours'))]).toEqual([true, false]);
  });

  it('of a transaction that is under way asks for a pause of five seconds, any other for none', () => {
    const error = new TransactionInProgressException({ Message: 'under way', message: 'under way', $metadata: {} });
    expect(storeError(error)).toMatchObject({ name: 'RetryError', afterMs: 5_000 });
    expect(storeError(named('ThrottlingException'))).toMatchObject({ name: 'RetryError', afterMs: 0 });
  });

  it('says which table was throttled and why, in either spelling', () => {
    const reasons = [
      {
        reason: 'TableWriteKeyRangeThroughputExceeded',
        resource: 'arn:aws:dynamodb:eu-west-1:000000000000:table/Nodes',
      },
    ];
    const $metadata = {};
    const told = /KeyRangeThroughputExceeded on arn:aws:dynamodb:eu-west-1:000000000000:table\/Nodes/;
    for (const error of [
      new ProvisionedThroughputExceededException({ message: 'too much', ThrottlingReasons: reasons, $metadata }),
      new ThrottlingException({ message: 'too much', throttlingReasons: reasons, $metadata }),
    ]) {
      expect(storeError(error)).toMatchObject({ name: 'RetryError', message: expect.stringMatching(told) });
    }
  });
});

describe('a cancelled transaction', () => {
  it.each([
    ['ConditionalCheckFailed', 'ConflictError'],
    ['TransactionConflict', 'ConflictError'],
    ['ProvisionedThroughputExceeded', 'RetryError'],
    ['ThrottlingError', 'RetryError'],
    ['ItemCollectionSizeLimitExceeded', 'PermanentError'],
    ['ValidationError', 'PermanentError'],
    ['AReasonOfTheFuture', 'BugError'],
  ])('for %s is a %s', (code, kind) => {
    expect(storeError(cancelled('None', code)).name).toBe(kind);
  });

  it.each<[string, readonly string[]]>([
    // Trying at once what is throttled makes it worse, whatever else there is (antiwork/gumroad#7454).
    ['RetryError', ['TransactionConflict', 'ThrottlingError']],
    ['RetryError', ['ConditionalCheckFailed', 'None', 'ProvisionedThroughputExceeded']],
    ['ConflictError', ['ConditionalCheckFailed', 'TransactionConflict']],
    ['PermanentError', ['ValidationError', 'ThrottlingError', 'ConditionalCheckFailed']],
    ['BugError', ['AReasonOfTheFuture', 'ValidationError', 'ThrottlingError', 'TransactionConflict']],
    ['BugError', ['None', 'None']],
    ['BugError', []],
  ])('is a %s if its reasons are %j', (kind, codes) => {
    expect(storeError(cancelled(...codes)).name).toBe(kind);
  });

  it('counts its reasons, and says what a validation was about', () => {
    const error = cancelled(
      'None',
      'TransactionConflict',
      { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed' },
      'ConditionalCheckFailed',
      { Code: 'ValidationError', Message: 'Item size has exceeded the maximum allowed size' },
    );
    expect(storeError(error).message).toBe(
      'TransactionCanceledException: 1 TransactionConflict, 2 ConditionalCheckFailed, ' +
        '1 ValidationError (Item size has exceeded the maximum allowed size)',
    );
  });

  it('has its reasons, no other error has any', () => {
    expect(cancellationReasons(cancelled('None', 'TransactionConflict'))).toEqual([
      { Code: 'None' },
      { Code: 'TransactionConflict' },
    ]);
    expect(cancellationReasons(named('TransactionCanceledException'))).toEqual([]);
    expect(cancellationReasons(named('ThrottlingException'))).toBeUndefined();
  });
});

describe('what the SDK throws', () => {
  const config = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' }, maxAttempts: 1 };
  const get = new GetItemCommand({ TableName: 'Pools', Key: { pool: { S: 'p' } } });

  it('when nothing listens is a RetryError', async () => {
    const client = dynamoClient({ ...config, endpoint: `http://127.0.0.1:${await closedPort()}` });
    const error = await client.send(get).catch(storeError);
    expect(error).toMatchObject({ name: 'RetryError' });
  });

  it('when it is told to stop is a RetryError', async () => {
    const client = dynamoClient({ ...config, endpoint: 'http://127.0.0.1:9' });
    const error = await client.send(get, { abortSignal: AbortSignal.abort() }).catch(storeError);
    expect(error).toMatchObject({ name: 'RetryError' });
  });

  it.each<[Fault, string]>([
    ['conflict', 'ConflictError'],
    ['partly-throttled', 'RetryError'],
    ['throttled', 'RetryError'],
    ['server-error', 'RetryError'],
    ['lost-before', 'RetryError'],
    ['denied', 'BugError'],
  ])('through a client with the fault %j is a %s', async (fault, kind) => {
    const { client } = faultyClient(dynamoClient(config), faultAt(1, fault));
    const write = new TransactWriteItemsCommand({
      TransactItems: [{ Delete: { TableName: 'Pools', Key: { pool: { S: 'p' } } } }],
    });
    expect(await client.send(write).catch(storeError)).toMatchObject({ name: kind });
  });
});

/** A port of the loopback address on which nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 9;
}
