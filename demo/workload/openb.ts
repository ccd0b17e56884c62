import { basename } from 'node:path';
import { BOUNDS } from '../../lib/settings.ts';
import { MAX_AMOUNT, seconds, uniqueName, wholeNumber } from './cells.ts';
import { ProblemList, refuseProblems } from './problems.ts';
import type { Row } from './table.ts';
import { readTable } from './table.ts';
import type { Workload, WorkloadNode, WorkloadTask } from './workload.ts';
import { byArrival, WHOLE_GPU } from './workload.ts';

/**
 * The public openb format (alibaba/clusterdata, cluster-trace-gpu-v2023). Columns that a replay does not need (`qos`,
 * `scheduled_time`) may be missing, others may be there, in any order.
 */
const NODE_COLUMNS = ['sn', 'cpu_milli', 'memory_mib', 'gpu', 'model'] as const;
const TASK_COLUMNS = [
  'name',
  'cpu_milli',
  'memory_mib',
  'num_gpu',
  'gpu_milli',
  'gpu_spec',
  'pod_phase',
  'creation_time',
  'deletion_time',
] as const;
type NodeRow = Row<(typeof NODE_COLUMNS)[number]>;
type TaskRow = Row<(typeof TASK_COLUMNS)[number]>;

/** More would not be replayed in an hour; keeps what is held of a wrong or huge file bounded. */
export const MAX_NODES = 20_000;
const MAX_TASKS = 200_000;

/** cpu and memory take two of the resources that a node or a task may have; each GPU takes one, and a device. */
const MAX_GPUS_PER_NODE = Math.min(BOUNDS.resourcesPerNode - 2, BOUNDS.devicesPerNode);
const MAX_GPUS_PER_TASK = Math.min(BOUNDS.resourcesPerTask - 2, BOUNDS.devicesPerTask);

/**
 * The workload of two files in the openb format.
 *
 * @throws BadInputError with every problem of both files, each with its file, line and column; of many the first twenty.
 */
export async function readOpenb(nodesFile: string, tasksFile: string): Promise<Workload> {
  const problems = new ProblemList();
  const nodes = await readNodes(nodesFile, problems);
  const tasks = await readTasks(tasksFile, problems);
  refuseProblems(problems);
  return { source: `${basename(nodesFile)}, ${basename(tasksFile)}`, nodes, tasks: byArrival(tasks) };
}

async function readNodes(file: string, problems: ProblemList): Promise<WorkloadNode[]> {
  const nodes: WorkloadNode[] = [];
  const seen = new Map<string, number>();
  await readTable({ file, columns: NODE_COLUMNS, what: 'node', maxRows: MAX_NODES }, problems, (row) => {
    const node = nodeOf(row, seen);
    if (node !== undefined) nodes.push(node);
  });
  return nodes;
}

async function readTasks(file: string, problems: ProblemList): Promise<WorkloadTask[]> {
  const tasks: WorkloadTask[] = [];
  const seen = new Map<string, number>();
  await readTable({ file, columns: TASK_COLUMNS, what: 'task', maxRows: MAX_TASKS }, problems, (row) => {
    const task = taskOf(row, seen);
    if (task !== undefined) tasks.push(task);
  });
  return tasks;
}

/** The node of a row; undefined if any of its columns is a problem. Every column is looked at, so that all are told at once. */
function nodeOf(row: NodeRow, seen: Map<string, number>): WorkloadNode | undefined {
  const name = uniqueName(row, 'sn', seen);
  const cpuMilli = wholeNumber(row, 'cpu_milli', MAX_AMOUNT);
  const memoryMib = wholeNumber(row, 'memory_mib', MAX_AMOUNT);
  const gpus = wholeNumber(row, 'gpu', MAX_GPUS_PER_NODE);
  const model = modelOf(row);
  if (name === undefined || cpuMilli === undefined || memoryMib === undefined) return undefined;
  if (gpus === undefined || model === undefined) return undefined;
  return { name, cpuMilli, memoryMib, gpus, model };
}

function modelOf(row: NodeRow): string | undefined {
  const model = row.text('model');
  if (model.length <= BOUNDS.labelLength && !model.includes('|')) return model;
  row.problem('model', `one model of at most ${BOUNDS.labelLength} characters, without a bar`);
  return undefined;
}

function taskOf(row: TaskRow, seen: Map<string, number>): WorkloadTask | undefined {
  const name = uniqueName(row, 'name', seen);
  const cpuMilli = wholeNumber(row, 'cpu_milli', MAX_AMOUNT);
  const memoryMib = wholeNumber(row, 'memory_mib', MAX_AMOUNT);
  const gpus = wholeNumber(row, 'num_gpu', MAX_GPUS_PER_TASK);
  const gpuMilli = gpuMilliOf(row, gpus);
  const models = modelsOf(row);
  const times = timesOf(row);
  if (name === undefined || cpuMilli === undefined || memoryMib === undefined || gpus === undefined) return undefined;
  if (gpuMilli === undefined || models === undefined || times === undefined) return undefined;
  const outcome = row.text('pod_phase') === 'Failed' ? 'failed' : 'complete';
  return { name, cpuMilli, memoryMib, gpus, gpuMilli, models, ...times, outcome };
}

/** A share is of one GPU; several are taken whole; a task without GPUs has a share of none. */
function gpuMilliOf(row: TaskRow, gpus: number | undefined): number | undefined {
  const milli = wholeNumber(row, 'gpu_milli', WHOLE_GPU);
  if (milli === undefined || gpus === undefined) return undefined;
  if (gpus === 0 && milli !== 0) row.problem('gpu_milli', '0, since num_gpu is 0');
  else if (gpus === 1 && milli === 0) row.problem('gpu_milli', `a share from 1 to ${WHOLE_GPU}, since num_gpu is 1`);
  else if (gpus > 1 && milli !== WHOLE_GPU)
    row.problem('gpu_milli', `${WHOLE_GPU}, since num_gpu is ${gpus} and only one GPU can be shared`);
  else return milli;
  return undefined;
}

function modelsOf(row: TaskRow): readonly string[] | undefined {
  const text = row.text('gpu_spec');
  if (text === '') return [];
  const models = text.split('|').map((model) => model.trim());
  if (!models.includes('')) return [...new Set(models)];
  row.problem('gpu_spec', 'models joined with a bar, as in V100M16|V100M32, or nothing');
  return undefined;
}

function timesOf(row: TaskRow): { arrival: number; end: number } | undefined {
  const arrival = seconds(row, 'creation_time');
  const end = seconds(row, 'deletion_time');
  if (arrival === undefined || end === undefined) return undefined;
  if (end >= arrival) return { arrival, end };
  row.problem('deletion_time', `a time not before creation_time, ${arrival}`);
  return undefined;
}
