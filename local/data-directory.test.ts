import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DataDirectory } from './data-directory.ts';

let outside: string;
let path: string;

beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), 'berth-data-'));
  path = join(outside, 'made', 'data');
});

afterEach(() => rmSync(outside, { recursive: true }));

/** A process that holds the lock of `path` until it is killed. */
async function otherOwner() {
  const script = join(outside, 'owner.mts');
  const module = fileURLToPath(new URL('data-directory.ts', import.meta.url));
  writeFileSync(
    script,
    `import { DataDirectory } from ${JSON.stringify(module)};
     await DataDirectory.open(${JSON.stringify(path)});
     console.log('held');
     setInterval(() => {}, 1e6);`,
  );
  const owner = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(owner.stdout, 'data');
  return {
    pid: owner.pid,
    kill: async (signal: NodeJS.Signals) => {
      owner.kill(signal);
      await once(owner, 'exit');
    },
    stop: () => owner.kill('SIGSTOP'),
  };
}

test('is made, held once, and free again', async () => {
  const data = await DataDirectory.open(path);
  expect(data.databaseFile).toBe(join(path, 'dynamodb.sqlite'));
  await expect(DataDirectory.open(path)).rejects.toThrow(
    `${join(path, 'lock')} is held by another engine (process ${process.pid})`,
  );
  data.release();
  expect(readdirSync(path)).toEqual([]);
  (await DataDirectory.open(path)).release();
});

test('is held by another process until that ends, also by kill -9', async () => {
  const owner = await otherOwner();
  await expect(DataDirectory.open(path)).rejects.toThrow(`process ${owner.pid}`);
  await owner.kill('SIGKILL');
  expect(existsSync(join(path, 'lock'))).toBe(true);
  (await DataDirectory.open(path)).release();
});

test('is held by an owner that does not answer because it is stopped', async () => {
  const owner = await otherOwner();
  owner.stop();
  await expect(DataDirectory.open(path)).rejects.toThrow(`process ${owner.pid}`);
  await owner.kill('SIGKILL');
});

test.each([
  { what: 'of a process that has another port', lock: JSON.stringify({ pid: process.pid, port: 9, token: 'x' }) },
  { what: 'of a process that is gone', lock: JSON.stringify({ pid: 2 ** 22 + 1, port: 9, token: 'x' }) },
  { what: 'that nobody understands', lock: 'x' },
  { what: 'that is empty', lock: '' },
])('is not held by a lock $what', async ({ lock }) => {
  (await DataDirectory.open(path)).release();
  writeFileSync(join(path, 'lock'), lock);
  const data = await DataDirectory.open(path);
  expect(readdirSync(path)).toEqual(['lock']);
  data.release();
});

test('is given to one of many that find a stale lock', async () => {
  (await DataDirectory.open(path)).release();
  writeFileSync(join(path, 'lock'), JSON.stringify({ pid: 2 ** 22 + 1, port: 9, token: 'x' }));
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => DataDirectory.open(path)));
  const opened = results.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []));
  expect(opened).toHaveLength(1);
  expect(readdirSync(path)).toEqual(['lock']);
  opened[0]?.release();
});

test('that cannot be made is an error that names it', async () => {
  writeFileSync(join(outside, 'file'), '');
  const inFile = join(outside, 'file', 'data');
  await expect(DataDirectory.open(inFile)).rejects.toThrow(`the data directory ${inFile} cannot be made`);
});
