import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../lib/client/index.ts';
import { type Engine, startEngine } from '../local/engine.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MINUTES = 60_000;

let engine: Engine;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  engine = await startEngine();
}, 10 * MINUTES);
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await engine?.stop();
});

/** Runs a script of Node's as somebody does who has pasted the variables that the engine prints. */
function node(...words: string[]): Promise<{ status: number | null; out: string }> {
  const child = spawn(process.execPath, words, { cwd: ROOT, env: { ...process.env, ...engine.env } });
  children.add(child);
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    out += chunk;
  });
  return new Promise((resolve) => {
    child.on('close', (status) => {
      children.delete(child);
      resolve({ status, out });
    });
  });
}

it(
  'the example places its tasks through the local engine, beside others of its kind',
  async () => {
    const example = () => node('--import', 'tsx', 'examples/worker.ts', '20');
    for (const { status, out } of await Promise.all([example(), example()])) {
      expect(out).toMatch(/20 of 20 placed\n20 tasks have run and ended\n$/);
      expect(status).toBe(0);
    }
    const berth = connect({ env: engine.env });
    const { nodes } = await berth.snapshot('example');
    expect(nodes.map(({ free }) => free.cpu)).toEqual([4000, 4000, 4000, 4000]);
    berth.close();
  },
  5 * MINUTES,
);

it(
  'the command finds the engine by its variables, and by the prefix',
  async () => {
    const command = (...words: string[]) => node('bin/berth.mjs', ...words);
    expect(await command('pool', 'list')).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^POOL .*\nexample /),
    });
    expect(await command('audit', 'example', '--prefix', 'Berth')).toMatchObject({
      status: 0,
      out: expect.stringMatching(/every account says what its tasks hold/),
    });
    expect(await command('quarantine', 'list')).toMatchObject({ status: 0, out: 'quarantine: nothing\n' });
    expect(await command('dead-letters', 'list')).toMatchObject({ status: 0, out: 'dead-letters: nothing\n' });
  },
  5 * MINUTES,
);
