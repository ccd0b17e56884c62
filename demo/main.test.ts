import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

/** The command as a user starts it. */

/** For a whole run on a machine that is busy with other things as well. No test passes or fails by its duration. */
const PATIENCE = { timeout: 480_000 };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-demo-test-'));
  // What the demo leaves in the directory for temporary files is found here.
  await mkdir(join(folder, 'tmp'));
});
afterEach(() => rm(folder, { recursive: true }));

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<{ status: number | null; stdout: string; stderr: string }>;
  stdout(): string;
}

function start(...argv: readonly string[]): Started {
  const child = spawn(process.execPath, ['--import', 'tsx', 'demo/main.ts', ...argv], {
    cwd: join(import.meta.dirname, '..'),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: join(folder, 'tmp') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = once(child, 'close').then(([status]) => ({ status: status as number | null, stdout, stderr }));
  return { child, ended, stdout: () => stdout };
}

/** What the demo left behind: files of its own; those of the loader that runs TypeScript are not its. */
async function leftBehind(): Promise<string[]> {
  return (await readdir(join(folder, 'tmp'))).filter(
    (name) => !name.startsWith('tsx-') && name !== 'node-compile-cache',
  );
}

async function trace(nodes: string, tasks: string): Promise<[string, string, string, string]> {
  const [nodesFile, tasksFile] = [join(folder, 'nodes.csv'), join(folder, 'tasks.csv')];
  await writeFile(nodesFile, `sn,cpu_milli,memory_mib,gpu,model\n${nodes}`);
  await writeFile(
    tasksFile,
    `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n${tasks}`,
  );
  return ['--nodes', nodesFile, '--tasks', tasksFile];
}

test(
  'a trace is replayed to its end: shares and whole GPUs on one node, tasks that wait, and one that never fits',
  PATIENCE,
  async () => {
    const files = await trace(
      'n1,8000,8000,0,\nn2,4000,4000,2,T4\n',
      [
        'cpu,6000,100,0,0,,LS,Running,0,100,0',
        'waits,6000,100,0,0,,LS,Succeeded,10,50,10',
        'share-a,100,100,1,600,T4,BE,Failed,0,30,0',
        'share-b,100,100,1,600,,BE,Running,1,30,1',
        'whole,100,100,2,1000,T4|V100,LS,Running,2,90,2',
        'never,100,100,1,500,H100,LS,Pending,5,9,',
      ].join('\n'),
    );
    const [json, report] = [join(folder, 'summary.json'), join(folder, 'report.html')];
    const { status, stdout, stderr } = await start(...files, '--json', json, '--report', report).ended;
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('replaying 5 tasks with 4 workers');
    const summary = JSON.parse(await readFile(json, 'utf8'));
    expect(summary).toMatchObject({
      kind: 'DemoSummary',
      workload: { nodes: 2, tasks: 6, source: 'nodes.csv, tasks.csv' },
      tasks: { placed: 5, ended: { complete: 4, failed: 1 }, neverPlaceable: [{ tasks: 1, example: 'never' }] },
      uncontended: { withinBounds: true, reads: 0 },
      exitStatus: 0,
    });
    expect(summary.tasks.waited).toBeGreaterThanOrEqual(2);
    expect(
      summary.invariants.map((it: { broken: number; checked: number }) => it.broken === 0 && it.checked > 0),
    ).toEqual(Array(4).fill(true));
    expect(stdout).toMatch(/ {2}placed +5 {2}/);
    expect(await readFile(report, 'utf8')).toContain('6 tasks on 2 nodes');
    expect(stdout.endsWith(`\nsummary written to ${json}\nreport written to ${report}\n`)).toBe(true);
    expect(await leftBehind()).toEqual([]);
  },
);

test(
  'a bad node is refused until it is made ineligible; without the tracker it is refused on and on',
  PATIENCE,
  async () => {
    const files = await trace('n1,8000,8000,0,\n', 'cpu,1000,100,0,0,,LS,Running,0,100,0\n');
    const [json, report] = [join(folder, 'summary.json'), join(folder, 'report.html')];
    const { status, stdout, stderr } = await start(...files, '--bad-nodes', '1', '--json', json, '--report', report)
      .ended;
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const { tasks, badNodes, invariants, refusals } = JSON.parse(await readFile(json, 'utf8'));
    const [bad] = badNodes.nodes;
    expect(tasks).toMatchObject({ placed: 5, ended: { complete: 5 } });
    expect(bad).toMatchObject({
      nodeId: 'bad-node-1',
      refusals: 40,
      evaluations: { refused: 4, placedAfterMark: 4 },
      eligibility: 'ineligible',
      event: 'made ineligible: refused 40 times in 120 seconds',
    });
    expect(bad.marked.planId).toMatch(/^demo-worker-\d-\d+$/);
    expect(refusals['max-tasks']).toBe(40);
    expect(badNodes.withoutTracker).toEqual({
      evaluations: 4,
      plans: 80,
      refusals: 80,
      placed: 0,
      eligibility: 'eligible',
    });
    expect(invariants.every((it: { broken: number; checked: number }) => it.broken === 0 && it.checked > 0)).toBe(true);
    expect(stdout).toContain('1 of them bad: here 40 refusals in 120 s make a node ineligible, usually 100 in 300 s');
    expect(stdout).toMatch(/ {2}bad-node-1 +40 {2}refusals, then ineligible, /);
    expect(await readFile(report, 'utf8')).toContain('Refusals of each bad node');
    expect(await leftBehind()).toEqual([]);
  },
);

test('Ctrl-C ends it: the engine is stopped, nothing is left, the exit status says so', PATIENCE, async () => {
  const { child, ended, stdout } = start();
  await expect.poll(stdout, { timeout: 500_000 }).toContain('replaying 1,993 tasks');
  child.kill('SIGINT');
  child.kill('SIGINT');
  const { status, stderr } = await ended;
  expect(status).toBe(130);
  expect(stderr).toContain('stopped by SIGINT');
  expect(stderr).not.toMatch(/\n +at /);
  expect(await leftBehind()).toEqual([]);
});

test('Ctrl-C ends a scene of the node scaler as well', PATIENCE, async () => {
  const { child, ended, stdout } = start('--scaler');
  await expect.poll(stdout, { timeout: 300_000 }).toContain('16:00: target 3; 3 active');
  child.kill('SIGINT');
  const { status, stderr } = await ended;
  expect({ status, last: stderr.trimEnd().split('\n').at(-1) }).toEqual({ status: 130, last: 'stopped by SIGINT' });
  expect(await leftBehind()).toEqual([]);
});

describe('bad input ends it before anything starts: exit status 2, no stack trace', () => {
  test.each([
    [
      'a missing file',
      () => ['--nodes', join(folder, 'none.csv'), '--tasks', join(folder, 'none.csv')],
      /none\.csv: there is no such file\n/,
    ],
    ['one file alone', () => ['--nodes', join(folder, 'none.csv')], /^--nodes needs --tasks too/],
    [
      'more bad nodes than a pool takes out at once',
      () => ['--bad-nodes', '11'],
      /A whole number from 0 to 10 is expected/,
    ],
    [
      'a workload for the node scaler',
      () => ['--scaler', '--workers', '2'],
      /^--scaler and --workers exclude each other/,
    ],
    ['an unknown option', () => ['--fast'], /^unknown option '--fast'/],
    ['a file that cannot be written', () => ['--json', folder], /: a file is expected, this is a directory\n$/],
  ])('%s', async (_, argv, message) => {
    const { status, stdout, stderr } = await start(...argv()).ended;
    expect(stderr).toMatch(message);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).not.toMatch(/\n +at /);
  });

  test('an unreadable number and a deletion before the creation, both told', async () => {
    const files = await trace('n1,many,1,0,\n', 't,1,1,0,0,,,,5,4,\n');
    const { status, stderr } = await start(...files).ended;
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /nodes\.csv, line 2, column cpu_milli: expected a whole number from 0 to \d+, found "many"\n/,
    );
    expect(stderr).toMatch(
      /tasks\.csv, line 2, column deletion_time: expected a time not before creation_time, 5, found "4"\n$/,
    );
  });
});
