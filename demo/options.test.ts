import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkOutputs, parseOptions } from './options.ts';
import { BadInputError } from './workload/problems.ts';

test('what is asked for, and what is there without asking', () => {
  expect(parseOptions([])).toEqual({
    kind: 'workload',
    files: undefined,
    workers: 4,
    seed: 1,
    badNodes: 0,
    json: undefined,
    report: undefined,
    quiet: false,
  });
  const all = [
    '--nodes',
    'n',
    '--tasks',
    't',
    '--workers',
    '8',
    '--seed',
    '0',
    '--bad-nodes',
    '3',
    '--json',
    'j',
    '--report',
    'r',
    '--quiet',
  ];
  expect(parseOptions(all)).toEqual({
    kind: 'workload',
    files: { nodes: 'n', tasks: 't' },
    workers: 8,
    seed: 0,
    badNodes: 3,
    json: 'j',
    report: 'r',
    quiet: true,
  });
});

test('a scene of the node scaler has options of its own', () => {
  const none = { json: undefined, report: undefined, kubeconfig: undefined, quiet: false };
  expect(parseOptions(['--scaler'])).toEqual({ kind: 'scaler', seed: 1, ...none });
  const given = { json: 'j', report: 'r', kubeconfig: 'k', quiet: true };
  const all = ['--scaler', '--seed', '7', '--json', 'j', '--report', 'r', '--kubeconfig', 'k', '--quiet'];
  expect(parseOptions(all)).toEqual({ kind: 'scaler', seed: 7, ...given });
});

test('--help is printed and asks for nothing', () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  expect(parseOptions(['--help'])).toBeUndefined();
  const help = String(write.mock.calls[0]?.[0]);
  expect(help).toContain('--nodes <file>');
  expect(help).toMatch(/--bad-nodes <number> +nodes to add that workers choose/);
});

test.each([
  [['--nodes', 'n'], '--nodes needs --tasks too: the nodes and the tasks of a trace belong together'],
  [['--tasks', 't'], '--tasks needs --nodes too: the nodes and the tasks of a trace belong together'],
  [['--workers', '0'], 'A whole number from 1 to 64 is expected.'],
  [['--workers', '2.5'], 'A whole number from 1 to 64 is expected.'],
  [['--workers', '65'], 'A whole number from 1 to 64 is expected.'],
  [['--seed', '-1'], 'A whole number from 0 to 2147483647 is expected.'],
  [['--seed', 'x'], 'A whole number from 0 to 2147483647 is expected.'],
  [['--bad-nodes', '11'], 'A whole number from 0 to 10 is expected.'],
  [['--bad-nodes', '-1'], 'A whole number from 0 to 10 is expected.'],
  [['--bad-nodes'], "option '--bad-nodes <number>' argument missing"],
  [['--nodes'], "option '--nodes <file>' argument missing"],
  [['--nodez', 'n'], "unknown option '--nodez'"],
  [['more'], 'too many arguments'],
  [['--json', 'same', '--report', 'same'], 'need a file each, and two of these are one'],
  [['--scaler', '--json', 'same', '--kubeconfig', 'same'], 'need a file each, and two of these are one'],
  [['--scaler', '--nodes', 'n', '--tasks', 't'], '--scaler and --nodes exclude each other'],
  [['--scaler', '--tasks', 't'], '--scaler and --tasks exclude each other'],
  [['--workers', '4', '--scaler'], '--scaler and --workers exclude each other'],
  [['--scaler', '--bad-nodes', '0'], '--scaler and --bad-nodes exclude each other'],
  [['--kubeconfig', 'k'], '--kubeconfig needs --scaler'],
])('%j is refused', (argv, message) => {
  expect(() => parseOptions(argv)).toThrow(BadInputError);
  expect(() => parseOptions(argv)).toThrow(message);
});

describe('files to be written', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-options-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('may exist or not', async () => {
    await writeFile(join(folder, 'old.json'), 'old');
    await checkOutputs({ json: join(folder, 'old.json'), report: join(folder, 'new.html') });
    await checkOutputs({ json: undefined, report: undefined });
  });

  test('cannot be a directory, in none that exists, or below a file', async () => {
    await writeFile(join(folder, 'file'), '');
    const refused = (json: string) => expect(checkOutputs({ json, report: undefined })).rejects;
    await refused(folder).toThrow(`--json ${folder}: a file is expected, this is a directory`);
    await refused(join(folder, 'no', 'x')).toThrow(`there is no directory ${join(folder, 'no')}`);
    await refused(join(folder, 'file', 'x')).toThrow(BadInputError);
    await expect(checkOutputs({ json: undefined, report: folder })).rejects.toThrow(`--report ${folder}: `);
  });
});
