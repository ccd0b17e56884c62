import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { berthCommand } from '../test/support/command.ts';
import { cells, Kubectl } from '../test/support/kubectl.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const EXAMPLE = fileURLToPath(new URL('../deploy/kubernetes/example.yaml', import.meta.url));

let directory: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-main-'));
  mkdirSync(join(directory, 'tmp'));
});

afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(directory, { recursive: true });
});

/** `npm start -- ARGS`, without npm. */
function run(...args: string[]) {
  const env: NodeJS.ProcessEnv = { ...process.env, TMPDIR: join(directory, 'tmp') };
  // What vitest sets to keep tests from AWS would be taken for services that run already.
  delete env.AWS_ENDPOINT_URL;
  const started = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), MAIN, ...args], { env });
  child = started;
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    started[stream].setEncoding('utf8').on('data', (text: string) => {
      printed[stream] += text;
    });
  }
  const ended = once(started, 'close').then(([status, signal]) => status ?? signal);
  return { printed, ended, kill: (signal: NodeJS.Signals) => started.kill(signal) };
}

/** `npm start` once it has said all that it says of itself. */
async function started(...args: string[]) {
  const running = run(...args);
  const early = running.ended.then((status) =>
    Promise.reject(new Error(`ended with ${status}: ${running.printed.stderr}`)),
  );
  await Promise.race([
    expect.poll(() => running.printed.stdout, { timeout: 110_000 }).toContain('Ctrl-C ends it.'),
    early,
  ]);
  early.catch(() => undefined);
  return running;
}

function environmentIn(file: string): Record<string, string> {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const unquoted = (value: string) => value.replace(/^'(.*)'$/, '$1');
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = '', value = ''] = /^export (\w+)=(.*)$/.exec(line) ?? [];
      return [name, unquoted(value)];
    }),
  );
}

describe('npm start', () => {
  test('starts the app as it is deployed, says where things are, keeps them with --data, and ends by Ctrl-C with status 0', async () => {
    const [data, envFile] = [join(directory, 'data'), join(directory, 'env')];
    const { printed, ended, kill } = await started('--data', data, '--write-env', envFile);

    expect(printed.stdout).toMatch(/\[\d+\.\d s\] starting DynamoDB\n\[.*\] synthesizing[\s\S]*\[.*\] ready/);
    expect(printed.stdout).toContain('queue Berth-plans.fifo -> PlanApplier');
    expect(printed.stdout).toContain(data);
    expect(printed.stdout).toContain(`. ${envFile}`);
    const env = environmentIn(envFile);
    expect(env).toMatchObject({
      BERTH_TABLE_NODES: 'Berth-Nodes',
      AWS_REGION: 'us-east-1',
      // What another engine knows these by, and keeps off.
      BERTH_ENGINE: `${env.AWS_ENDPOINT_URL_DYNAMODB},${env.AWS_ENDPOINT_URL_SQS}`,
    });
    const sqs = new SQSClient({ endpoint: env.AWS_ENDPOINT_URL_SQS ?? '' });
    const input = { QueueUrl: env.BERTH_QUEUE_PLANS, AttributeNames: ['VisibilityTimeout' as const] };
    expect((await sqs.send(new GetQueueAttributesCommand(input))).Attributes).toEqual({ VisibilityTimeout: '180' });
    sqs.destroy();

    // As a terminal does it with npm between: twice.
    kill('SIGINT');
    kill('SIGINT');
    expect(await ended).toBe(0);
    expect(printed.stdout).toMatch(/stopping\nstopped\n$/);
    expect(readdirSync(join(directory, 'tmp')).filter((name) => name.startsWith('berth-'))).toEqual([]);
    expect(readdirSync(data).toSorted()).toEqual(['dynamodb.sqlite', 'engine.log', 'queues.jsonl', 'streams.json']);
    // It loads CDK, synthesizes and bundles, all from nothing, beside other tests.
  }, 120_000);

  test('simulates a cluster with --kubeconfig, that kubectl and berth find, and that the node scaler looks after', async () => {
    const [file, envFile] = [join(directory, 'kubeconfig'), join(directory, 'env')];
    const { printed, ended, kill } = await started('--kubeconfig', file, '--write-env', envFile);
    expect(printed.stdout).toContain('Ticks -> NodeScaler');
    for (const words of ['get nodes', 'apply -f deploy/kubernetes/example.yaml', 'get gsn -w']) {
      expect(printed.stdout).toContain(`\n  kubectl --kubeconfig ${file} ${words}\n`);
    }
    expect(printed.stdout).toContain('\n  npx berth scaler status');

    const kubectl = new Kubectl(directory);
    kubectl.use(readFileSync(file, 'utf8'));
    const nodes = cells(
      await kubectl.say('get', 'nodes', '--no-headers', '-l', 'eks.amazonaws.com/nodegroup=gameserver'),
    );
    expect(nodes.map(([, status]) => status)).toEqual(['Ready', 'Ready']);
    expect(await kubectl.say('get', 'gs', '--all-namespaces')).toContain('Allocated');
    await kubectl.say('apply', '-f', EXAMPLE);
    const { status, out, err } = await berthCommand(environmentIn(envFile), ['scaler', 'check']);
    expect({ status, err }).toEqual({ status: 0, err: '' });
    // On a Friday evening it is more than one.
    expect(out).toMatch(/\ngame +eks, group of 2 \(0 to 40\) [\s\S]*\ngame: would order \d+ nodes?\n/);

    kill('SIGTERM');
    expect(await ended).toBe(0);
  }, 120_000);

  test('keeps a kubeconfig that is none of its own', async () => {
    const file = join(directory, 'kubeconfig');
    writeFileSync(file, 'clusters: [{ name: real, cluster: { server: https://example.com } }]');
    const { printed, ended } = run('--kubeconfig', file);
    expect(await ended).toBe(1);
    expect(printed.stderr).toMatch(/^Cannot start: .*\/kubeconfig is there already, .*: name another file\n$/);
    expect(readFileSync(file, 'utf8')).toContain('https://example.com');
  });

  test.each([
    { args: ['--nonsense'], message: "unknown option '--nonsense'" },
    { args: ['extra'], message: 'too many arguments' },
    { args: ['--data'], message: "option '--data <dir>' argument missing" },
  ])('refuses $args', async ({ args, message }) => {
    const { printed, ended } = run(...args);
    expect(await ended).toBe(1);
    expect(printed.stderr).toContain(message);
  });

  test('tells what it can do', async () => {
    const { printed, ended } = run('--help');
    expect(await ended).toBe(0);
    for (const option of ['--data <dir>', '--write-env <file>', '--kubeconfig <file>', '--quiet'])
      expect(printed.stdout).toContain(option);
  });

  test('that cannot start says why in one line, with status 1', async () => {
    const { printed, ended } = run('--data', '/dev/null/data');
    expect(await ended).toBe(1);
    expect(printed.stderr).toMatch(/^Cannot start: the data directory \/dev\/null\/data cannot be made: .*\n$/);
  });
});
