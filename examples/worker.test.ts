import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
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

interface Ended {
  readonly status: number | null;
  readonly out: string;
}

const node = (...words: string[]) => run(process.execPath, ...words);

/** Lines of a shell; the first that fails ends them. */
const shell = (lines: string) => run('/bin/sh', '-ec', lines);

/** Runs a program as somebody does who has taken in the variables that the engine writes. */
function run(program: string, ...words: string[]): Promise<Ended> {
  const env: NodeJS.ProcessEnv = { ...process.env };
  // What keeps the SDK quiet in tests is to come from the engine, as everything else.
  delete env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED;
  const child = spawn(program, words, { cwd: ROOT, env: { ...env, ...engine.env } });
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

/** The blocks of a page that are of `language`, in their order. */
function blocks(page: string, language: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, block = '']) => block);
}

function blockWith(page: string, language: string, words: string): string {
  const found = blocks(page, language).find((block) => block.includes(words));
  if (found === undefined) throw new Error(`${page} has no block of ${language} with ${words}`);
  return found;
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

it(
  'what README says of the other terminal works as it stands, again and again',
  async () => {
    const block = blockWith('README.md', 'sh', 'npm run example');
    // The engine runs already, and its variables are taken in.
    const lines = block.replace(/^(npm start|\. ).*\n/gm, '');
    expect(lines).toMatch(/^npm run example .*\n(npx berth .*\n){4}$/);
    for (let time = 0; time < 2; time++) {
      const { status, out } = await shell(lines);
      expect(out).not.toContain('Warning');
      expect(out).toMatch(/\n\S+ +complete +\S+ +\S+ +stays +.*\n\nthe slot keeps 3 old tasks\n*$/);
      expect(status).toBe(0);
    }
  },
  5 * MINUTES,
);

it(
  'the example deals with the ends of its tasks, so that their history stays within its limit',
  async () => {
    const berth = connect({ env: engine.env });
    await berth.setService({ serviceId: 'web', mode: 'replicated', historyLimit: 2 });
    for (let time = 0; time < 3; time++) await shell('npm run -s example -- 2');
    await engine.eventSources.idle();
    const { tasks } = await berth.taskHistory('web#1');
    expect(tasks.map(({ task }) => task.state)).toEqual(['complete', 'complete']);
    berth.close();
  },
  5 * MINUTES,
);

it(
  'the TypeScript of README runs, and has its result again when it is run again',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-readme-'));
    const file = join(folder, 'try.mts');
    const text = blockWith('README.md', 'ts', 'berth.submit(').replace('./lib/', join(ROOT, 'lib/'));
    writeFileSync(file, `${text}\nconsole.log(result.status, result.index);\n`);
    try {
      const first = await node('--import', 'tsx', file);
      expect(first).toEqual({ status: 0, out: expect.stringMatching(/^applied \d+\n$/) });
      expect(await node('--import', 'tsx', file)).toEqual(first);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  5 * MINUTES,
);

it(
  "what docs/operators.md puts onto the local engine's queues is set aside, and the plan takes effect when it is redriven",
  async () => {
    const ended = await shell(blockWith('docs/operators.md', 'sh', 'SendMessageCommand'));
    expect(ended).toEqual({ status: 0, out: '' });
    const berth = (...words: string[]) => node('bin/berth.mjs', ...words);
    await vi.waitFor(
      async () => expect((await berth('quarantine', 'list')).out).toMatch(/ example .* the message is not JSON/),
      { timeout: MINUTES, interval: 500 },
    );
    const { out } = await berth('dead-letters', 'list');
    const [plan = ''] = /practice-\d+/.exec(out) ?? [];
    expect(await berth('dead-letters', 'redrive', '--all')).toEqual({ status: 0, out: 'redrove 1 message\n' });
    await engine.eventSources.idle();
    expect((await berth('plan', 'show', plan)).out).toContain('applied');
  },
  5 * MINUTES,
);
