import { APPLIER, PLATFORM, QUEUES, REAPER, RESULTS, SCALER, SWEEPER } from '../lib/settings.ts';

type Numbers<T> = { readonly [K in keyof T]: number };

/** The settings of `lib/settings.ts` that the stacks are built from; their meaning and units stand there. */
export interface Settings {
  readonly applier: Numbers<typeof APPLIER>;
  readonly queues: Numbers<typeof QUEUES>;
  readonly results: Numbers<typeof RESULTS>;
  readonly reaper: Numbers<typeof REAPER>;
  readonly sweeper: Numbers<typeof SWEEPER>;
  readonly scaler: Numbers<typeof SCALER>;
}

export type SettingsOverrides = { readonly [G in keyof Settings]?: Partial<Settings[G]> };

/** The settings of `lib/settings.ts` with `overrides` laid over them. */
export function settingsWith(overrides: SettingsOverrides = {}): Settings {
  return {
    applier: { ...APPLIER, ...overrides.applier },
    queues: { ...QUEUES, ...overrides.queues },
    results: { ...RESULTS, ...overrides.results },
    reaper: { ...REAPER, ...overrides.reaper },
    sweeper: { ...SWEEPER, ...overrides.sweeper },
    scaler: { ...SCALER, ...overrides.scaler },
  };
}

/** Thrown before anything is built when a setting or context value breaks a rule that Berth's guarantees or AWS rest on. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`these settings cannot be deployed:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Ranges that SQS and Lambda accept. Sources: CreateQueue, CreateFunction, CreateEventSourceMapping. */
const RANGES: readonly { setting: string; of: (s: Settings) => number; min: number; max: number; unit: string }[] = [
  { setting: 'APPLIER.timeoutSeconds', of: (s) => s.applier.timeoutSeconds, min: 1, max: 900, unit: 's' },
  { setting: 'APPLIER.memoryMiB', of: (s) => s.applier.memoryMiB, min: 128, max: 10_240, unit: 'MiB' },
  { setting: 'APPLIER.batchSize', of: (s) => s.applier.batchSize, min: 1, max: PLATFORM.fifoBatch, unit: 'messages' },
  {
    setting: 'QUEUES.planVisibilitySeconds',
    of: (s) => s.queues.planVisibilitySeconds,
    min: 1,
    max: 43_200,
    unit: 's',
  },
  {
    setting: 'QUEUES.planRetentionSeconds',
    of: (s) => s.queues.planRetentionSeconds,
    min: 60,
    max: 1_209_600,
    unit: 's',
  },
  {
    setting: 'QUEUES.deadLetterRetentionSeconds',
    of: (s) => s.queues.deadLetterRetentionSeconds,
    min: 60,
    max: 1_209_600,
    unit: 's',
  },
  {
    setting: 'QUEUES.quarantineRetentionSeconds',
    of: (s) => s.queues.quarantineRetentionSeconds,
    min: 60,
    max: 1_209_600,
    unit: 's',
  },
  { setting: 'REAPER.timeoutSeconds', of: (s) => s.reaper.timeoutSeconds, min: 1, max: 900, unit: 's' },
  { setting: 'REAPER.memoryMiB', of: (s) => s.reaper.memoryMiB, min: 128, max: 10_240, unit: 'MiB' },
  { setting: 'REAPER.batchSize', of: (s) => s.reaper.batchSize, min: 1, max: 10_000, unit: 'records' },
  { setting: 'REAPER.batchingWindowSeconds', of: (s) => s.reaper.batchingWindowSeconds, min: 0, max: 300, unit: 's' },
  { setting: 'REAPER.parallelizationFactor', of: (s) => s.reaper.parallelizationFactor, min: 1, max: 10, unit: '' },
  { setting: 'REAPER.maxRetries', of: (s) => s.reaper.maxRetries, min: 0, max: 10_000, unit: 'tries' },
  // The stream keeps a day: a record that may grow older than that is lost without a word.
  { setting: 'REAPER.maxRecordAgeSeconds', of: (s) => s.reaper.maxRecordAgeSeconds, min: 60, max: 82_800, unit: 's' },
  {
    setting: 'REAPER.failureRetentionSeconds',
    of: (s) => s.reaper.failureRetentionSeconds,
    min: 60,
    max: 1_209_600,
    unit: 's',
  },
  { setting: 'SWEEPER.timeoutSeconds', of: (s) => s.sweeper.timeoutSeconds, min: 1, max: 900, unit: 's' },
  { setting: 'SWEEPER.memoryMiB', of: (s) => s.sweeper.memoryMiB, min: 128, max: 10_240, unit: 'MiB' },
  { setting: 'SWEEPER.visibilitySeconds', of: (s) => s.sweeper.visibilitySeconds, min: 1, max: 43_200, unit: 's' },
  { setting: 'SWEEPER.retentionSeconds', of: (s) => s.sweeper.retentionSeconds, min: 60, max: 1_209_600, unit: 's' },
  { setting: 'SWEEPER.maxReceives', of: (s) => s.sweeper.maxReceives, min: 5, max: 1_000, unit: 'receives' },
  { setting: 'SWEEPER.maxConcurrency', of: (s) => s.sweeper.maxConcurrency, min: 2, max: 1_000, unit: 'pages' },
  { setting: 'SWEEPER.dailyHour', of: (s) => s.sweeper.dailyHour, min: 0, max: 23, unit: 'hours' },
  { setting: 'SWEEPER.dailyMinute', of: (s) => s.sweeper.dailyMinute, min: 0, max: 59, unit: 'minutes' },
  { setting: 'SCALER.timeoutSeconds', of: (s) => s.scaler.timeoutSeconds, min: 1, max: 900, unit: 's' },
  { setting: 'SCALER.memoryMiB', of: (s) => s.scaler.memoryMiB, min: 128, max: 10_240, unit: 'MiB' },
  // Scheduler and Lambda keep an event for a minute at least, for a day and for six hours at most.
  { setting: 'SCALER.maxTickAgeSeconds', of: (s) => s.scaler.maxTickAgeSeconds, min: 60, max: 21_600, unit: 's' },
  { setting: 'SCALER.tickSeconds', of: (s) => s.scaler.tickSeconds, min: 60, max: 3_600, unit: 's' },
  // AWS advises at least 5 with Lambda: a receive counts even when the invocation was only throttled.
  { setting: 'QUEUES.planMaxReceives', of: (s) => s.queues.planMaxReceives, min: 5, max: 1_000, unit: 'receives' },
];

/** AWS's advice for SQS with Lambda: throttled invocations are tried again inside the visibility time-out. */
const VISIBILITY_PER_TIMEOUT = 6;

/**
 * What is wrong with `settings`, each problem with the setting, its value, what was expected and how to mend it; empty
 * when all is well.
 */
export function settingProblems(settings: Settings): string[] {
  const problems: string[] = [];
  for (const { setting, of, min, max, unit } of RANGES) {
    const value = of(settings);
    if (!Number.isSafeInteger(value) || value < min || value > max) {
      problems.push(
        `${setting} is ${value}; AWS takes a whole number from ${min} to ${max} (${unit}): set one in that range`,
      );
    }
  }
  for (const rule of RULES) {
    const problem = rule(settings);
    if (problem !== undefined) {
      problems.push(problem);
    }
  }
  return problems;
}

/** Throws a {@link SettingsError} that lists every broken rule. */
export function checkSettings(settings: Settings): void {
  const problems = settingProblems(settings);
  if (problems.length > 0) {
    throw new SettingsError(problems);
  }
}

const RULES: readonly ((settings: Settings) => string | undefined)[] = [
  resultOutlivesMessage,
  visibilityCoversRetries,
  sweepVisibilityCoversRetries,
  receivesEndBeforeRetention,
  deadLettersStayLonger,
  toleranceComesBeforeGivingUp,
  reserveFitsTimeout,
  leaseOutlivesFunction,
  ticksAreMinutes,
  tickFitsItsMinute,
];

/**
 * A result is what keeps a plan from taking effect again. The longest life of a message: the plan queue's retention, the
 * dead-letter queue's (a FIFO queue starts the clock again when a message moves there), and the plan queue's once more
 * after a redrive.
 */
function resultOutlivesMessage({ queues, results }: Settings): string | undefined {
  const life = 2 * queues.planRetentionSeconds + queues.deadLetterRetentionSeconds;
  if (results.retentionSeconds >= life) {
    return undefined;
  }
  return (
    `RESULTS.retentionSeconds is ${results.retentionSeconds}, but a message can live ${life} s ` +
    `(QUEUES.planRetentionSeconds ${queues.planRetentionSeconds}, QUEUES.deadLetterRetentionSeconds ` +
    `${queues.deadLetterRetentionSeconds}, and planRetentionSeconds again after a redrive); a plan whose result is gone ` +
    `would take effect twice: raise RESULTS.retentionSeconds to at least ${life} or shorten a queue's retention`
  );
}

/** A group is serial only while its messages stay invisible: a run that outlasts that is delivered a second time beside itself. */
function visibilityCoversRetries({ applier, queues }: Settings): string | undefined {
  const least = VISIBILITY_PER_TIMEOUT * applier.timeoutSeconds;
  if (queues.planVisibilitySeconds >= least) {
    return undefined;
  }
  return (
    `QUEUES.planVisibilitySeconds is ${queues.planVisibilitySeconds}; expected at least ${VISIBILITY_PER_TIMEOUT} times ` +
    `APPLIER.timeoutSeconds (${applier.timeoutSeconds}), that is ${least}: derive it from the time-out, or shorten the time-out`
  );
}

/** A page that is delivered again beside itself does its work twice, and sends the next page twice. */
function sweepVisibilityCoversRetries({ sweeper }: Settings): string | undefined {
  const least = VISIBILITY_PER_TIMEOUT * sweeper.timeoutSeconds;
  if (sweeper.visibilitySeconds >= least) {
    return undefined;
  }
  return (
    `SWEEPER.visibilitySeconds is ${sweeper.visibilitySeconds}; expected at least ${VISIBILITY_PER_TIMEOUT} times ` +
    `SWEEPER.timeoutSeconds (${sweeper.timeoutSeconds}), that is ${least}: derive it from the time-out, or shorten the time-out`
  );
}

/** A message that expires in the plan queue is deleted without a trace: it must reach the dead-letter queue before. */
function receivesEndBeforeRetention({ queues }: Settings): string | undefined {
  const receiving = queues.planMaxReceives * queues.planVisibilitySeconds;
  if (receiving < queues.planRetentionSeconds) {
    return undefined;
  }
  return (
    `QUEUES.planRetentionSeconds is ${queues.planRetentionSeconds}, but ${queues.planMaxReceives} receives ` +
    `(QUEUES.planMaxReceives) of ${queues.planVisibilitySeconds} s each (QUEUES.planVisibilitySeconds) take ${receiving} s; ` +
    'a failing message would expire before it reaches the dead-letter queue: lengthen the retention or lower the receives'
  );
}

function deadLettersStayLonger({ queues }: Settings): string | undefined {
  if (queues.deadLetterRetentionSeconds >= queues.planRetentionSeconds) {
    return undefined;
  }
  return (
    `QUEUES.deadLetterRetentionSeconds is ${queues.deadLetterRetentionSeconds}, less than QUEUES.planRetentionSeconds ` +
    `(${queues.planRetentionSeconds}); what failed must stay to be looked at at least as long as what waits: raise it`
  );
}

/** A page that goes before its failing slots are left alone ends its sweep: nothing sends the page after it. */
function toleranceComesBeforeGivingUp({ sweeper }: Settings): string | undefined {
  if (sweeper.tolerantFrom <= sweeper.maxReceives) {
    return undefined;
  }
  return (
    `SWEEPER.tolerantFrom is ${sweeper.tolerantFrom}, but a page is given up after ${sweeper.maxReceives} receives ` +
    '(SWEEPER.maxReceives); one slot that fails would end every sweep at its page: lower it, or raise the receives'
  );
}

/** What each function begins none of once its time comes to an end. */
const BEGUN = [
  { group: 'APPLIER', of: (s: Settings) => s.applier, what: 'plan' },
  { group: 'REAPER', of: (s: Settings) => s.reaper, what: 'slot' },
  { group: 'SWEEPER', of: (s: Settings) => s.sweeper, what: 'slot' },
  { group: 'SCALER', of: (s: Settings) => s.scaler, what: 'change' },
] as const;

function reserveFitsTimeout(settings: Settings): string | undefined {
  for (const { group, of, what } of BEGUN) {
    const { reserveMs, timeoutSeconds } = of(settings);
    if (reserveMs >= 0 && reserveMs < timeoutSeconds * 1000) continue;
    return (
      `${group}.reserveMs is ${reserveMs} ms, but ${group}.timeoutSeconds leaves ${timeoutSeconds * 1000} ms in all; ` +
      `no ${what} would ever be begun: lower the reserve or raise the time-out`
    );
  }
  return undefined;
}

/** Seconds by which the clocks of two machines of Lambda may differ, with room. */
const CLOCKS_APART = 5;

/** Two runs at once would act on one cluster, each on what the other has changed. */
function leaseOutlivesFunction({ scaler }: Settings): string | undefined {
  const least = scaler.timeoutSeconds + CLOCKS_APART;
  if (scaler.leaseSeconds >= least) return undefined;
  return (
    `SCALER.leaseSeconds is ${scaler.leaseSeconds}, but a run may take SCALER.timeoutSeconds (${scaler.timeoutSeconds}), and ` +
    `clocks may be ${CLOCKS_APART} s apart; the next run would act beside it: raise the lease to at least ${least}`
  );
}

function ticksAreMinutes({ scaler }: Settings): string | undefined {
  if (scaler.tickSeconds % 60 === 0) return undefined;
  return `SCALER.tickSeconds is ${scaler.tickSeconds}; the scheduler knows whole minutes alone: take a multiple of 60`;
}

/** A run that lasts into the next tick takes that one's turn away. */
function tickFitsItsMinute({ scaler }: Settings): string | undefined {
  if (scaler.timeoutSeconds < scaler.tickSeconds) return undefined;
  return (
    `SCALER.timeoutSeconds is ${scaler.timeoutSeconds}, but the next tick comes after SCALER.tickSeconds ` +
    `(${scaler.tickSeconds}); it would find the cluster held: shorten the time-out`
  );
}
