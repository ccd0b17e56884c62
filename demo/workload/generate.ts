import type { Random } from './random.ts';
import { lognormal, seededRandom, weighted } from './random.ts';
import type { TaskNeed, Workload, WorkloadNode, WorkloadTask } from './workload.ts';
import { byArrival, WHOLE_GPU } from './workload.ts';

export const GENERATED_NODES = 200;
export const GENERATED_TASKS = 2_000;

const DAY = 86_400;
/** Days over which tasks arrive. */
const DAYS = 4;
const GIB = 1024;

/**
 * Kinds of nodes: those of the openb cluster (cpu, memory, GPUs and model of its most frequent ones), with a larger part of
 * them small, so that 2,000 tasks can fill 200 nodes.
 */
const NODE_KINDS = [
  { nodes: 50, cpuMilli: 32_000, memoryMib: 128 * GIB, gpus: 0, model: '' },
  { nodes: 20, cpuMilli: 96_000, memoryMib: 384 * GIB, gpus: 0, model: '' },
  { nodes: 20, cpuMilli: 64_000, memoryMib: 256 * GIB, gpus: 2, model: 'T4' },
  { nodes: 20, cpuMilli: 64_000, memoryMib: 256 * GIB, gpus: 4, model: 'T4' },
  { nodes: 40, cpuMilli: 16_000, memoryMib: 120 * GIB, gpus: 2, model: 'P100' },
  { nodes: 18, cpuMilli: 8_000, memoryMib: 32 * GIB, gpus: 1, model: 'V100M16' },
  { nodes: 12, cpuMilli: 32_000, memoryMib: 128 * GIB, gpus: 4, model: 'V100M16' },
  { nodes: 6, cpuMilli: 48_000, memoryMib: 368 * GIB, gpus: 4, model: 'V100M32' },
  { nodes: 12, cpuMilli: 96_000, memoryMib: 384 * GIB, gpus: 8, model: 'G2' },
  { nodes: 2, cpuMilli: 128_000, memoryMib: 768 * GIB, gpus: 8, model: 'G3' },
] as const;

type TaskKind = Omit<TaskNeed, 'models'> & { readonly weight: number };

/** Kinds of tasks: cpu, memory and GPU of the most frequent ones of openb, with more of those that take several GPUs. */
const TASK_KINDS: readonly [TaskKind, ...TaskKind[]] = [
  { weight: 26, cpuMilli: 12_500, memoryMib: 56 * GIB, gpus: 0, gpuMilli: 0 },
  { weight: 10, cpuMilli: 32_000, memoryMib: 48 * GIB, gpus: 0, gpuMilli: 0 },
  { weight: 14, cpuMilli: 3_152, memoryMib: 5_600, gpus: 1, gpuMilli: 810 },
  { weight: 12, cpuMilli: 8_000, memoryMib: 30_517, gpus: 1, gpuMilli: 470 },
  { weight: 6, cpuMilli: 4_000, memoryMib: 15_258, gpus: 1, gpuMilli: 320 },
  { weight: 4, cpuMilli: 6_000, memoryMib: 12_288, gpus: 1, gpuMilli: 230 },
  { weight: 18, cpuMilli: 3_152, memoryMib: 5_600, gpus: 1, gpuMilli: WHOLE_GPU },
  { weight: 10, cpuMilli: 11_300, memoryMib: 48 * GIB, gpus: 1, gpuMilli: WHOLE_GPU },
  { weight: 5, cpuMilli: 16_000, memoryMib: 32 * GIB, gpus: 2, gpuMilli: WHOLE_GPU },
  { weight: 3, cpuMilli: 32_000, memoryMib: 96 * GIB, gpus: 4, gpuMilli: WHOLE_GPU },
  { weight: 2, cpuMilli: 88_000, memoryMib: 320 * GIB, gpus: 8, gpuMilli: WHOLE_GPU },
];

/** Which models tasks of at most so many GPUs ask for, when they ask (a third of openb's GPU tasks do). */
const MODEL_CHOICES: readonly { weight: number; maxGpus: number; models: readonly string[] }[] = [
  { weight: 3, maxGpus: 2, models: ['T4'] },
  { weight: 2, maxGpus: 2, models: ['P100', 'T4'] },
  { weight: 2, maxGpus: 4, models: ['V100M16', 'V100M32'] },
  { weight: 1, maxGpus: 4, models: ['V100M32'] },
  { weight: 2, maxGpus: 8, models: ['G2', 'G3'] },
  { weight: 1, maxGpus: 8, models: ['G3'] },
];
const ASKS_FOR_MODEL = 0.33;

/** Tasks that fit no empty node, each for a reason of its own: a cluster has such requests, and they must not block others. */
const MISFITS: readonly TaskNeed[] = [
  { cpuMilli: 8_000, memoryMib: 32 * GIB, gpus: 1, gpuMilli: WHOLE_GPU, models: ['H100'] },
  { cpuMilli: 64_000, memoryMib: 256 * GIB, gpus: 16, gpuMilli: WHOLE_GPU, models: [] },
  { cpuMilli: 32_000, memoryMib: 128 * GIB, gpus: 4, gpuMilli: WHOLE_GPU, models: ['T4'] },
  { cpuMilli: 192_000, memoryMib: 64 * GIB, gpus: 0, gpuMilli: 0, models: [] },
  { cpuMilli: 16_000, memoryMib: 1_024 * GIB, gpus: 0, gpuMilli: 0, models: [] },
  { cpuMilli: 24_000, memoryMib: 64 * GIB, gpus: 1, gpuMilli: 500, models: ['P100'] },
];
const MISFIT_EVERY = 250;

/**
 * The built-in workload: 200 nodes and 2,000 tasks of the character of openb, the same for the same seed. Tasks come more
 * often by day than by night and live so long that the GPUs are taken for part of each day, so that tasks wait.
 */
export function generateWorkload(seed: number): Workload {
  const random = seededRandom(seed);
  const tasks = Array.from({ length: GENERATED_TASKS }, (_, ordinal) => taskOf(random, ordinal));
  return { source: `built-in workload, seed ${seed}`, nodes: generatedNodes(), tasks: byArrival(tasks) };
}

function generatedNodes(): WorkloadNode[] {
  const kinds = NODE_KINDS.flatMap(({ nodes, ...kind }) => Array.from({ length: nodes }, () => kind));
  return kinds.map((kind, ordinal) => ({ name: `node-${digits(ordinal, 3)}`, ...kind }));
}

function taskOf(random: Random, ordinal: number): WorkloadTask {
  const need = ordinal % MISFIT_EVERY === MISFIT_EVERY - 1 ? misfit(ordinal) : needOf(random);
  const arrival = arrivalOf(random);
  const lifetime = Math.max(60, Math.round(lognormal(random, lifetimeMedian(need), 0.7)));
  return {
    name: `task-${digits(ordinal, 4)}`,
    ...need,
    arrival,
    end: arrival + Math.min(lifetime, 3 * DAY),
    outcome: random.fraction() < 0.2 ? 'failed' : 'complete',
  };
}

function misfit(ordinal: number): TaskNeed {
  return MISFITS[Math.floor(ordinal / MISFIT_EVERY) % MISFITS.length] as TaskNeed;
}

function needOf(random: Random): TaskNeed {
  const { weight: _, ...need } = weighted(random, TASK_KINDS);
  if (need.gpus === 0 || random.fraction() >= ASKS_FOR_MODEL) return { ...need, models: [] };
  const [first, ...others] = MODEL_CHOICES.filter(({ maxGpus }) => maxGpus >= need.gpus);
  return { ...need, models: first === undefined ? [] : weighted(random, [first, ...others]).models };
}

/** A second of those days; five times as likely at noon as at midnight. */
function arrivalOf(random: Random): number {
  for (;;) {
    const at = random.integer(0, DAYS * DAY - 1);
    const height = 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / DAY);
    if (random.fraction() < 0.2 + 0.8 * height) return at;
  }
}

/** Seconds. Training on several GPUs lasts longer than what shares one. */
function lifetimeMedian(need: TaskNeed): number {
  if (need.gpus === 0) return 0.75 * DAY;
  if (need.gpus > 1) return 0.85 * DAY;
  return need.gpuMilli < WHOLE_GPU ? 0.55 * DAY : 0.75 * DAY;
}

function digits(ordinal: number, width: number): string {
  return String(ordinal).padStart(width, '0');
}
