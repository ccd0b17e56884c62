import type { DynamoDBStreamsClient, Shard } from '@aws-sdk/client-dynamodb-streams';
import { expect, test } from 'vitest';
import { StreamReader } from './stream-reader.ts';

interface Request {
  readonly constructor: { readonly name: string };
  readonly input: Readonly<Record<string, string>>;
}

/**
 * A stream whose shards hold the numbers given, `open` those that are still written to. An iterator is shard, colon and
 * the last number before it.
 */
function streamOf(shards: readonly Shard[], contents: Record<string, number[]>, open: readonly string[]) {
  const state = { fail: undefined as string | undefined };
  const send = async ({ constructor: { name }, input }: Request) => {
    if (name === 'DescribeStreamCommand') return { StreamDescription: { Shards: shards } };
    if (name === 'GetShardIteratorCommand') return { ShardIterator: `${input.ShardId}:${input.SequenceNumber ?? 0}` };
    const [shard = '', after] = (input.ShardIterator ?? '').split(':');
    const failure = state.fail;
    state.fail = undefined;
    if (failure !== undefined) throw Object.assign(new Error(failure), { name: failure });
    const numbers = (contents[shard] ?? []).filter((number) => number > Number(after)).slice(0, 2);
    const last = numbers.at(-1) ?? after;
    const isOver = numbers.length === 0 && !open.includes(shard);
    const Records = numbers.map((number) => ({ dynamodb: { SequenceNumber: String(number) } }));
    return { Records, NextShardIterator: isOver ? undefined : `${shard}:${last}` };
  };
  return { client: { send } as unknown as DynamoDBStreamsClient, state };
}

async function read(reader: StreamReader, times: number): Promise<string[]> {
  const seen: string[] = [];
  for (let count = 0; count < times; count += 1) {
    for (const { shardId, records } of await reader.read()) {
      seen.push(...records.map(({ dynamodb }) => `${shardId} ${dynamodb?.SequenceNumber}`));
    }
  }
  return seen;
}

const SHARDS: readonly Shard[] = [
  { ShardId: 'child', ParentShardId: 'parent' },
  { ShardId: 'parent', ParentShardId: 'long-gone' },
];
const CONTENTS = { parent: [1, 2, 3], child: [4, 5] };

test('a child comes after the whole of its parent', async () => {
  const { client } = streamOf(SHARDS, CONTENTS, ['child']);
  const reader = new StreamReader(client, 'arn', {});
  expect(await reader.isAtEnd()).toBe(false);
  expect(await read(reader, 6)).toEqual(['parent 1', 'parent 2', 'parent 3', 'child 4', 'child 5']);
  expect(await reader.isAtEnd()).toBe(true);
});

test('reading goes on at given positions, of shards that have ended too', async () => {
  const { client } = streamOf(SHARDS, CONTENTS, ['child']);
  expect(await read(new StreamReader(client, 'arn', { parent: '3', child: '4' }), 4)).toEqual(['child 5']);
});

test('the latest position is behind everything that is there', async () => {
  const { client } = streamOf(SHARDS, CONTENTS, ['child']);
  expect(await StreamReader.latest(client, 'arn')).toEqual({ parent: '3', child: '5' });
});

test('after an error reading goes on where it stood; what has been trimmed is not waited for', async () => {
  const { client, state } = streamOf(SHARDS, CONTENTS, ['child']);
  const reader = new StreamReader(client, 'arn', { parent: '1' });
  expect(await read(reader, 1)).toEqual(['parent 2', 'parent 3']);
  state.fail = 'ExpiredIteratorException';
  expect(await reader.read()).toMatchObject([
    { shardId: 'parent', records: [], error: { name: 'ExpiredIteratorException' } },
  ]);
  expect(await read(reader, 3)).toEqual(['child 4', 'child 5']);
  const other = new StreamReader(client, 'arn', { parent: '2' });
  state.fail = 'TrimmedDataAccessException';
  expect(await read(other, 2)).toEqual(['parent 1', 'parent 2']);
});
