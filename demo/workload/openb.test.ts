import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MAX_NODES, readOpenb } from './openb.ts';
import { BadInputError, LISTED_PROBLEMS } from './problems.ts';

const NODES = 'sn,cpu_milli,memory_mib,gpu,model\nn1,32000,262144,0,\nn2,96000,393216,8,G2\n';
const TASK_HEADER =
  'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time';
const TASKS = `${TASK_HEADER}
late,1000,2048,0,0,,LS,Running,50,60,50
share,6000,12288,1,460,V100M16|G2,LS,Succeeded,10,20,
whole,6000,12288,8,1000,,BE,Failed,10,10,
`;

let folder: string;
let nodes: string;
let tasks: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-openb-'));
  nodes = join(folder, 'nodes.csv');
  tasks = join(folder, 'tasks.csv');
  await writeFile(nodes, NODES);
  await writeFile(tasks, TASKS);
});
afterEach(() => rm(folder, { recursive: true }));

/** The lines of the error that reading the two files ends with. */
async function refusal(): Promise<string[]> {
  const error = await readOpenb(nodes, tasks).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(BadInputError);
  return (error as BadInputError).message.split('\n').map((line) => line.replaceAll(`${folder}/`, ''));
}

describe('what it reads', () => {
  test('nodes and tasks, tasks by arrival and then by name', async () => {
    const workload = await readOpenb(nodes, tasks);
    expect(workload.source).toBe('nodes.csv, tasks.csv');
    expect(workload.nodes).toEqual([
      { name: 'n1', cpuMilli: 32_000, memoryMib: 262_144, gpus: 0, model: '' },
      { name: 'n2', cpuMilli: 96_000, memoryMib: 393_216, gpus: 8, model: 'G2' },
    ]);
    expect(workload.tasks.map(({ name }) => name)).toEqual(['share', 'whole', 'late']);
    expect(workload.tasks[0]).toEqual({
      name: 'share',
      cpuMilli: 6_000,
      memoryMib: 12_288,
      gpus: 1,
      gpuMilli: 460,
      models: ['V100M16', 'G2'],
      arrival: 10,
      end: 20,
      outcome: 'complete',
    });
    expect(workload.tasks[1]).toMatchObject({ gpus: 8, gpuMilli: 1_000, models: [], outcome: 'failed' });
  });

  test('columns in another order, further columns, a byte order mark, CRLF, blank lines and no final line end', async () => {
    const columns = ['extra', 'model', 'gpu', 'memory_mib', 'cpu_milli', 'sn'];
    await writeFile(nodes, `\uFEFF${columns.join(',')}\r\nx,G2,8,1,2.0,n1\r\n\r\n"a, b",,0,3,4,"n2"`);
    expect((await readOpenb(nodes, tasks)).nodes).toEqual([
      { name: 'n1', cpuMilli: 2, memoryMib: 1, gpus: 8, model: 'G2' },
      { name: 'n2', cpuMilli: 4, memoryMib: 3, gpus: 0, model: '' },
    ]);
  });

  test('a file without the columns that a replay does not need', async () => {
    await writeFile(
      tasks,
      TASKS.split('\n')
        .map((line) => line.split(',').toSpliced(10, 1).toSpliced(6, 1).join(','))
        .join('\n'),
    );
    expect((await readOpenb(nodes, tasks)).tasks).toHaveLength(3);
  });
});

describe('the file as a whole', () => {
  test.each([
    ['is missing', (file: string) => rm(file), 'nodes.csv: there is no such file'],
    [
      'is empty',
      (file: string) => writeFile(file, ''),
      'nodes.csv: it is empty; expected a header with the columns sn, cpu_milli, memory_mib, gpu, model',
    ],
    [
      'has a header alone',
      (file: string) => writeFile(file, 'sn,cpu_milli,memory_mib,gpu,model\n'),
      'nodes.csv: it holds no row; expected at least one node',
    ],
    [
      'is no text',
      (file: string) => writeFile(file, Buffer.alloc(200_000, 7)),
      'nodes.csv, line 1: a line of at most 65536 bytes is expected; is it a CSV file?',
    ],
  ])('%s', async (_, spoil, message) => {
    await spoil(nodes);
    expect(await refusal()).toEqual([message]);
  });

  test('is a directory', async () => {
    nodes = folder;
    expect(await refusal()).toEqual([`${folder}: a file is expected, this is a directory`]);
  });

  test('has an open quote', async () => {
    await writeFile(nodes, `${NODES}"n3,1,2,0,\nn4,1,2,0,\n`);
    expect((await refusal())[0]).toMatch(/^nodes\.csv, line 5: it is not CSV from here on: /);
  });

  test('has more rows than can be replayed: what is held stays bounded', async () => {
    const rows = Array.from({ length: MAX_NODES + 2 }, (_, row) => `n${row},1,1,0,`);
    await writeFile(nodes, `sn,cpu_milli,memory_mib,gpu,model\n${rows.join('\n')}\n`);
    expect(await refusal()).toEqual([
      `nodes.csv, line ${MAX_NODES + 2}: at most ${MAX_NODES} nodes can be replayed, and there are more`,
    ]);
  });
});

describe('a column', () => {
  test.each([
    'name',
    'cpu_milli',
    'memory_mib',
    'num_gpu',
    'gpu_milli',
    'gpu_spec',
    'pod_phase',
    'creation_time',
    'deletion_time',
  ])('%s is missing', async (column) => {
    const header = TASK_HEADER.replace(new RegExp(`\\b${column}\\b`), 'other');
    await writeFile(tasks, TASKS.replace(TASK_HEADER, header));
    const found = header.replaceAll(',', ', ');
    expect(await refusal()).toEqual([
      `tasks.csv, line 1, column ${column}: this column is missing; the header has ${found}`,
    ]);
  });

  test('stands in the header twice', async () => {
    await writeFile(nodes, NODES.replace('model', 'gpu').replace('memory_mib', 'model,memory_mib'));
    expect(await refusal()).toContain('nodes.csv, line 1, column gpu: this column stands in the header twice');
  });

  test('is short or too many in a row', async () => {
    await writeFile(nodes, `${NODES}n3,1,2,0\nn4,1,2,0,,\n`);
    expect(await refusal()).toEqual([
      'nodes.csv, line 4: expected 5 fields, as in the header, found 4',
      'nodes.csv, line 5: expected 5 fields, as in the header, found 6',
    ]);
  });
});

describe('a value', () => {
  const NUMBER = 'a whole number from 0 to';
  test.each([
    ['abc,32000', 'n1,abc,32000,0,', 'cpu_milli', `${NUMBER} 100000000000, found "abc"`],
    ['a negative number', 'n3,1,-2,0,', 'memory_mib', `${NUMBER} 100000000000, found "-2"`],
    ['a fraction', 'n3,1.5,2,0,', 'cpu_milli', `${NUMBER} 100000000000, found "1.5"`],
    ['an exponent', 'n3,1e3,2,0,', 'cpu_milli', `${NUMBER} 100000000000, found "1e3"`],
    ['a hexadecimal number', 'n3,0x10,2,0,', 'cpu_milli', `${NUMBER} 100000000000, found "0x10"`],
    ['infinity', 'n3,Infinity,2,0,', 'cpu_milli', `${NUMBER} 100000000000, found "Infinity"`],
    ['nothing', 'n3,,2,0,', 'cpu_milli', `${NUMBER} 100000000000, found nothing`],
    [
      'a number past all bounds',
      'n3,1,99999999999999999999,0,',
      'memory_mib',
      `${NUMBER} 100000000000, found "99999999999999999999"`,
    ],
    ['more GPUs than a node can have', 'n3,1,2,63,', 'gpu', `${NUMBER} 62, found "63"`],
    ['two models', 'n3,1,2,1,A|B', 'model', 'one model of at most 256 characters, without a bar, found "A|B"'],
    [
      'no name',
      ',1,2,0,',
      'sn',
      'a name of 1 to 128 letters, digits and _ . : / + = , ~ -, not beginning with a sign, found nothing',
    ],
    [
      'a name that is no id',
      'a#b,1,2,0,',
      'sn',
      'a name of 1 to 128 letters, digits and _ . : / + = , ~ -, not beginning with a sign, found "a#b"',
    ],
    ['a name again', 'n2,1,2,0,', 'sn', 'a name that is not on line 3 already, found "n2"'],
  ])('of a node: %s', async (_, row, column, message) => {
    await writeFile(nodes, `${NODES}${row.replace('n1', 'n9')}\n`);
    expect(await refusal()).toEqual([`nodes.csv, line 4, column ${column}: expected ${message}`]);
  });

  test.each([
    [
      'a share of several GPUs',
      't,1,2,2,500,,,Running,1,2,',
      'gpu_milli',
      '1000, since num_gpu is 2 and only one GPU can be shared, found "500"',
    ],
    ['a share without a GPU', 't,1,2,0,500,,,Running,1,2,', 'gpu_milli', '0, since num_gpu is 0, found "500"'],
    [
      'a GPU of which it takes nothing',
      't,1,2,1,0,,,Running,1,2,',
      'gpu_milli',
      'a share from 1 to 1000, since num_gpu is 1, found "0"',
    ],
    [
      'more than a whole GPU',
      't,1,2,1,1001,,,Running,1,2,',
      'gpu_milli',
      'a whole number from 0 to 1000, found "1001"',
    ],
    [
      'more GPUs than a task can have',
      't,1,2,31,1000,,,Running,1,2,',
      'num_gpu',
      'a whole number from 0 to 30, found "31"',
    ],
    [
      'a bar too many',
      't,1,2,1,500,A||B,,Running,1,2,',
      'gpu_spec',
      'models joined with a bar, as in V100M16|V100M32, or nothing, found "A||B"',
    ],
    [
      'deletion before creation',
      't,1,2,0,0,,,Running,5,4,',
      'deletion_time',
      'a time not before creation_time, 5, found "4"',
    ],
    [
      'a negative time',
      't,1,2,0,0,,,Running,-5,4,',
      'creation_time',
      'seconds since the start of the trace, from 0 to 1000000000000, found "-5"',
    ],
    [
      'a date',
      't,1,2,0,0,,,Running,1,2024-01-01,',
      'deletion_time',
      'seconds since the start of the trace, from 0 to 1000000000000, found "2024-01-01"',
    ],
    ['a name again', 'whole,1,2,0,0,,,Running,1,2,', 'name', 'a name that is not on line 4 already, found "whole"'],
  ])('of a task: %s', async (_, row, column, message) => {
    await writeFile(tasks, `${TASKS}${row}\n`);
    expect(await refusal()).toEqual([`tasks.csv, line 5, column ${column}: expected ${message}`]);
  });
});

test('problems of both files are told at once, the first of many and how many more there are', async () => {
  await writeFile(nodes, `${NODES}n3,x,y,z,\n`);
  await writeFile(
    tasks,
    `${TASKS}${Array.from({ length: 30 }, (_, row) => `t${row},1,2,0,0,,,Running,5,4,`).join('\n')}\n`,
  );
  const lines = await refusal();
  expect(lines.slice(0, 4).map((line) => line.split(':')[0])).toEqual([
    'nodes.csv, line 4, column cpu_milli',
    'nodes.csv, line 4, column memory_mib',
    'nodes.csv, line 4, column gpu',
    'tasks.csv, line 5, column deletion_time',
  ]);
  expect(lines).toHaveLength(LISTED_PROBLEMS + 1);
  expect(lines.at(-1)).toBe('and 13 more');
});
