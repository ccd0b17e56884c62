import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { GuardedProcess } from './guarded-process.ts';

let outside: string;
let guarded: string;
let pidFile: string;

beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), 'berth-guard-'));
  guarded = mkdtempSync(join(outside, 'guarded-'));
  pidFile = join(outside, 'pid');
});

afterEach(() => rmSync(outside, { recursive: true }));

/** A shell that says who it is, then does `script`. */
const shell = (script: string) => ['sh', '-c', `echo $$ >${pidFile}.new; mv ${pidFile}.new ${pidFile}; ${script}`];

async function pid(): Promise<number> {
  await expect.poll(() => existsSync(pidFile), { timeout: 30_000 }).toBe(true);
  return Number(readFileSync(pidFile, 'utf8'));
}

function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
}

test('a stop ends the command in order and removes the directory', async () => {
  const done = join(outside, 'done');
  const command = new GuardedProcess(guarded, shell(`trap 'touch ${done}; exit 0' TERM; while :; do sleep 0.01; done`));
  const running = await pid();
  await command.stop();
  expect(isRunning(running)).toBe(false);
  expect([existsSync(done), existsSync(guarded)]).toEqual([true, false]);
});

test('a command that does not end when it is asked to is ended', async () => {
  const command = new GuardedProcess(guarded, shell(`trap '' TERM; while :; do sleep 0.01; done`));
  const running = await pid();
  await command.stop();
  expect(isRunning(running)).toBe(false);
});

test('a command that ends by itself is told, with its status and what it printed', async () => {
  const command = new GuardedProcess(guarded, shell('echo out; echo wrong >&2; exit 7'));
  expect(await command.endedByItself()).toBe(7);
  expect(command.output.split('\n').toSorted()).toEqual(['out', 'wrong']);
  expect(existsSync(guarded)).toBe(false);
});

test('a command that does not exist is told', async () => {
  const command = new GuardedProcess(guarded, ['/nowhere/dynoxide']);
  expect(await command.endedByItself()).toBe(127);
});

test('without a command the directory alone is looked after', async () => {
  const command = new GuardedProcess(guarded);
  expect(existsSync(guarded)).toBe(true);
  await command.stop();
  expect(existsSync(guarded)).toBe(false);
});

test.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
  'when this process ends by %s, so does the command, and the directory is gone',
  async (signal) => {
    const script = join(outside, 'parent.mts');
    const module = fileURLToPath(new URL('guarded-process.ts', import.meta.url));
    writeFileSync(
      script,
      `import { GuardedProcess } from ${JSON.stringify(module)};
     new GuardedProcess(${JSON.stringify(guarded)}, ${JSON.stringify(shell('while :; do sleep 0.01; done'))});`,
    );
    const parent = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), script], { stdio: 'inherit' });
    const running = await pid();
    parent.kill(signal);
    await expect.poll(() => isRunning(running), { timeout: 30_000 }).toBe(false);
    await expect.poll(() => existsSync(guarded), { timeout: 30_000 }).toBe(false);
  },
);

test('the command is not in the group of processes that Ctrl-C at a terminal reaches', async () => {
  const command = new GuardedProcess(guarded, shell('while :; do sleep 0.01; done'));
  const group = (processId: number) =>
    execFileSync('ps', ['-o', 'pgid=', '-p', String(processId)])
      .toString()
      .trim();
  expect(group(await pid())).not.toBe(group(process.pid));
  await command.stop();
});
