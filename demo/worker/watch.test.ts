import { expect, test } from 'vitest';
import type { PoolSnapshot } from '../../lib/client/index.ts';
import type { Cluster } from '../run/cluster.ts';
import { PoolWatch } from './watch.ts';

/** A pool whose reads a test answers one by one. */
function reads() {
  const waiting: ((index: number) => void)[] = [];
  let count = 0;
  const asked: ('all' | number)[] = [];
  const snapshot: Cluster['snapshot'] = (_pool, { since } = {}) => {
    count += 1;
    asked.push(since?.index ?? 'all');
    return new Promise<PoolSnapshot>((resolve) => {
      waiting.push((index) => resolve({ index, nodes: [] } as unknown as PoolSnapshot));
    });
  };
  /** Answers the earliest read that is not answered, once there is one. */
  const answer = async (index: number) => {
    await expect.poll(() => waiting.length).toBe(1);
    waiting.shift()?.(index);
  };
  return { snapshot, answer, asked, count: () => count };
}

test('one read serves all who ask while it is under way, and all who ask for no more afterwards', async () => {
  const pool = reads();
  const watch = new PoolWatch(pool, 'p');
  const asked = [watch.sight(1), watch.sight(2)];
  await pool.answer(3);
  expect((await Promise.all(asked)).map(({ index }) => index)).toEqual([3, 3]);
  expect((await watch.sight(3)).index).toBe(3);
  expect(pool.count()).toBe(1);
});

test('a read that began too early for somebody is followed by one more, for all of them', async () => {
  const pool = reads();
  const watch = new PoolWatch(pool, 'p');
  const early = watch.sight(1);
  await expect.poll(pool.count).toBe(1);
  const late = [watch.sight(5), watch.sight(6)];
  await pool.answer(3);
  expect((await early).index).toBe(3);
  await pool.answer(6);
  expect((await Promise.all(late)).map(({ index }) => index)).toEqual([6, 6]);
  expect(pool.asked).toEqual(['all', 3]);
});

test('room that was given back after a read began is not taken to be in it', async () => {
  const pool = reads();
  const watch = new PoolWatch(pool, 'p');
  const first = watch.sight(0);
  await expect.poll(pool.count).toBe(1);
  watch.released();
  await pool.answer(1);
  expect((await first).releases).toBe(0);
  const second = watch.sight(0, watch.releases);
  await pool.answer(1);
  expect((await second).releases).toBe(1);
  expect(pool.asked).toEqual(['all', 'all']);
});

test('a snapshot older than a commit that was answered is an error: the client promises that it cannot be', async () => {
  const pool = reads();
  const message = 'the snapshot of pool p is of index 3, every commit up to 4 was asked for';
  const refused = expect(new PoolWatch(pool, 'p').sight(4)).rejects.toThrow(message);
  await pool.answer(3);
  await refused;
});
