import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROTO = join(ROOT, 'proto', 'game_server_node.proto');
const GENERATED = 'lib/providers/generated/game_server_node_pb.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-proto-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a real compiler of protobuf, as hook authors of any language have one; it needs no network. */
function buf(...words: string[]): Promise<{ readonly status: number | null; readonly out: string }> {
  const bin = join(ROOT, 'node_modules', '.bin');
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
    BUF_CACHE_DIR: join(folder, 'cache'),
  };
  const child = spawn(join(bin, 'buf'), words, { cwd: ROOT, env });
  let out = '';
  const gather = (chunk: Buffer) => {
    out += chunk.toString();
  };
  child.stdout.on('data', gather);
  child.stderr.on('data', gather);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, out }));
  });
}

it('the contract compiles', async () => {
  expect(await buf('build', 'proto')).toEqual({ status: 0, out: '' });
});

it('a compiler finds what the contract had wrong at first', async () => {
  const text = await readFile(PROTO, 'utf8');
  const faulty = join(folder, 'faulty');
  await mkdir(faulty);
  await writeFile(join(faulty, 'faulty.proto'), text.replace('rpc Increase(.Increase)', 'rpc Increase(Increase)'));

  const { status, out } = await buf('build', faulty);

  expect(status).not.toBe(0);
  expect(out).toContain('GameServerNode.Increase');
});

it('what the scaler speaks is what the contract says: npm run proto', async () => {
  const made = join(folder, 'made');
  expect(await buf('generate', 'proto', '--template', 'proto/buf.gen.yaml', '--output', made)).toMatchObject({
    status: 0,
  });
  expect(await readFile(join(ROOT, GENERATED), 'utf8')).toBe(await readFile(join(made, GENERATED), 'utf8'));
});
