import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CheckpointStore, ShardProgress } from './stream-progress.ts';

test('the position of a shard is before the first change that is not dealt with', () => {
  const progress = new ShardProgress('10');
  for (const number of ['11', '12', '13', '14']) progress.read(number);
  progress.done('12');
  progress.done('13');
  expect(progress.position).toBe('10');
  progress.done('11');
  expect(progress.position).toBe('13');
  progress.done('14');
  expect(progress.position).toBe('14');
});

describe('checkpoints', () => {
  let directory: string;
  let file: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'berth-checkpoints-'));
    file = join(directory, 'streams.json');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  test('are kept by source, for the stream that they are of', () => {
    const store = new CheckpointStore(file);
    expect(store.positions('one', 'arn')).toBeUndefined();
    store.save('one', 'arn', { shard: '5', other: null });
    store.save('two', 'arn', {});
    const again = new CheckpointStore(file);
    expect(again.positions('one', 'arn')).toEqual({ shard: '5', other: null });
    expect(again.positions('two', 'arn')).toEqual({});
    // Of a table that was made anew, sequence numbers mean something else.
    expect(again.positions('one', 'arn of another stream')).toBeUndefined();
  });

  test('without a file are kept nowhere', () => {
    new CheckpointStore(undefined).save('one', 'arn', {});
    expect(existsSync(file)).toBe(false);
  });

  test('that are damaged are an error that names the file', () => {
    writeFileSync(file, '{');
    expect(() => new CheckpointStore(file)).toThrow(`${file} is damaged`);
  });
});
