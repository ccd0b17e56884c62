import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, credentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type HookCertificates, hookCertificates } from '../cases/scaler/hook-certificates.ts';
import { RecordedAws } from '../cases/scaler/recorded-aws.ts';
import { hookService } from '../cases/scaler/recorded-hook.ts';
import { cronTimes } from '../lib/cron/croner.ts';
import { providersOf } from '../lib/providers/providers.ts';
import { readSpec } from '../lib/scaler/spec/spec.ts';
import type { EpochMs } from '../lib/time.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

let folder: string;
let certificates: HookCertificates;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-hook-'));
  certificates = await hookCertificates();
  await writeFile(join(folder, 'cert.pem'), certificates.cert);
  await writeFile(join(folder, 'key.pem'), certificates.key);
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The hook as its first comment says to start it; its port, once it listens. */
async function start(...words: string[]): Promise<{ readonly port: number; readonly child: ChildProcess }> {
  const files = ['--cert', join(folder, 'cert.pem'), '--key', join(folder, 'key.pem')];
  const all = ['--import', 'tsx', 'examples/node-hook.ts', ...files, '--port', '0', ...words];
  const child = spawn(process.execPath, all, { cwd: ROOT });
  children.add(child);
  child.on('close', () => children.delete(child));
  return new Promise((resolve, reject) => {
    let out = '';
    const gather = (chunk: Buffer) => {
      out += chunk.toString();
      const port = /listening on 127\.0\.0\.1:(\d+)/.exec(out)?.[1];
      if (port !== undefined) resolve({ port: Number(port), child });
    };
    child.stdout.on('data', gather);
    child.stderr.on('data', gather);
    child.on('close', (status) => reject(new Error(`the hook ended with ${status}: ${out}`)));
  });
}

/** The scaler's own provider for a pool of the hook. */
function scaler(port: number, config: Record<string, string> = { nodepool: 'gameserver' }) {
  const { eks, autoScaling } = new RecordedAws();
  let now = Date.parse('2026-01-15T12:00:00Z');
  const clock = () => {
    now += 60_000;
    return now as EpochMs;
  };
  const provide = providersOf({ cluster: 'prod', eks, autoScaling, resolveService: async () => undefined, clock });
  const caBundle = Buffer.from(certificates.ca).toString('base64');
  const grpcHook = { address: `127.0.0.1:${port}`, caBundle };
  const read = readSpec({ replicas: 1, provider: 'custom', config, grpcHook }, cronTimes);
  if (!('spec' in read)) throw new Error(JSON.stringify(read.problems));
  return provide('game', read.spec);
}

/** A client that is made of the contract's text, by another toolchain than the scaler's. */
function caller(port: number) {
  const Stub = hookService();
  const client = new Stub(`localhost:${port}`, credentials.createSsl(Buffer.from(certificates.ca)));
  return {
    ask: (method: string, request: object) =>
      new Promise<unknown>((resolve, reject) => {
        const stub = client as Client &
          Record<string, (request: object, answer: (e: unknown, r: unknown) => void) => void>;
        stub[method]?.(request, (error, reply) => (error ? reject(error) : resolve(reply)));
      }),
    close: () => client.close(),
  };
}

const CONFIG = { provider: 'custom', values: { nodepool: 'gameserver' } };

it('serves the scaler: what it orders is there, and what it ends is gone, however often it asks', async () => {
  const { port, child } = await start();
  const provider = scaler(port);
  const { ask, close } = caller(port);
  try {
    expect(await provider.validate()).toEqual({ problems: [], warnings: [] });
    await provider.increase({ by: 2 });
    await provider.increase({ by: 1 });
    expect(await ask('Size', CONFIG)).toEqual({ target: 3, ready: 3 });

    await provider.endMachine({ node: 'nobody' });
    expect(await ask('Size', CONFIG)).toEqual({ target: 3, ready: 3 });
    await expect(provider.increase({ by: 18 })).rejects.toMatchObject({ kind: 'refused', code: 'RESOURCE_EXHAUSTED' });
    expect(await ask('Size', CONFIG)).toEqual({ target: 3, ready: 3 });
  } finally {
    close();
  }
  child.kill('SIGTERM');
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
});

it('carries an order out once, by whomever it is sent again', async () => {
  const { port } = await start();
  const { ask, close } = caller(port);
  try {
    const order = { increase_size: 2, config: { ...CONFIG, values: { ...CONFIG.values, requestId: 'prod/game/1' } } };
    await ask('Increase', order);
    await ask('Increase', order);
    expect(await ask('Size', CONFIG)).toEqual({ target: 2, ready: 2 });
    await expect(ask('Increase', { increase_size: 0, config: CONFIG })).rejects.toMatchObject({ code: 3 });
  } finally {
    close();
  }
});

it('says which pools there are', async () => {
  const { port } = await start('--pool', 'a', '--pool', 'b');
  expect(await scaler(port, { nodepool: 'c' }).validate()).toEqual({
    problems: [{ path: 'spec.config.nodepool', message: 'FieldValueNotFound: no pool c; there are a, b' }],
    warnings: [],
  });
  expect((await scaler(port, {}).validate()).problems).toHaveLength(1);
});

it('makes and ends machines by commands, and refuses what could not be made', async () => {
  const log = join(folder, 'log');
  const { port } = await start(
    '--add',
    `echo "add $MACHINE" >> ${log}`,
    '--remove',
    `echo "remove $MACHINE" >> ${log}`,
  );
  const provider = scaler(port);

  await provider.increase({ by: 1 });
  const [machine = ''] = /gameserver-\S+/.exec(await readFile(log, 'utf8')) ?? [];
  await provider.endMachine({ node: machine });
  await provider.endMachine({ node: machine });

  expect(await readFile(log, 'utf8')).toBe(`add ${machine}\nremove ${machine}\n`);
  const broken = scaler((await start('--add', 'false')).port);
  await expect(broken.increase({ by: 1 })).rejects.toMatchObject({ kind: 'refused', code: 'RESOURCE_EXHAUSTED' });
});

it.each([
  [['--nope'], /--nope/],
  [['--cert', 'none.pem', '--key', 'none.key'], /none\.pem/],
  [[], /--cert and --key/],
])('is not started with %j, and says why in a line or two', (words, says) => {
  const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', 'examples/node-hook.ts', ...words], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  expect(status).toBe(2);
  expect(stderr).toMatch(says);
  expect(stderr).not.toMatch(/\n {4}at /);
});
