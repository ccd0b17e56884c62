import type { Command } from 'commander';
import { SweepFailedError, type SweepRecord, SweepTimeoutError } from '../client/index.ts';
import { type Cli, type CommonOptions, commandOf, type Run } from './context.ts';
import { EXIT, NotThereError, showProgress } from './io.ts';
import { fields, time } from './table.ts';

interface SweepOptions extends CommonOptions {
  readonly wait: boolean;
  readonly show?: string;
}

/** `berth sweep`. */
export function sweepCommand(cli: Cli): Command {
  return commandOf(
    'sweep',
    'bring every slot to its limit that the stream was lost of, and tell how many tasks that took',
  )
    .option('--no-wait', 'begin it and do not wait until it is done')
    .option('--show <sweep>', 'tell how a sweep goes, or went, and begin none')
    .action(({ wait, show, ...options }: SweepOptions) =>
      cli.run(
        options,
        async (run) => {
          if (show !== undefined) return showSweep(run, show);
          const sweepId = await run.berth.sweep();
          if (!wait) {
            run.print({ sweepId }, () => `begun; see: berth sweep --show ${sweepId}`);
            return undefined;
          }
          const record = await watched(run, sweepId);
          run.print(record, () => sweepText(record));
          return record.failed > 0 ? EXIT.no : EXIT.done;
        },
        show !== undefined ? ['reaperFailures'] : wait ? ['sweep', 'reaperFailures'] : ['sweep'],
      ),
    );
}

async function watched({ berth, io }: Run, sweepId: string): Promise<SweepRecord> {
  const progress = await showProgress(io, 'tasks looked at');
  try {
    return await berth.waitForSweep(sweepId, { onProgress: ({ tasks }) => progress.at(tasks) });
  } finally {
    progress.end();
  }
}

async function showSweep({ berth, print, io }: Run, sweepId: string) {
  const record = await berth.sweepRecord(sweepId);
  const failure = record?.finishedAt === undefined ? await failureOf(berth, sweepId) : undefined;
  if (!record && failure) throw failure;
  if (!record) {
    throw new NotThereError(
      `there is no record of sweep ${sweepId}: none of its pages is done yet, it is older than 30 days, or the id is misspelt`,
    );
  }
  print(record, () => sweepText(record));
  if (failure) {
    io.err(`berth: ${failure.message}\n`);
    return EXIT.failed;
  }
  return record.failed > 0 ? EXIT.no : EXIT.done;
}

/** Why a sweep that is not done will never be, if that is so. */
async function failureOf(berth: Run['berth'], sweepId: string): Promise<SweepFailedError | undefined> {
  try {
    await berth.waitForSweep(sweepId, { timeoutMs: 0 });
    return undefined;
  } catch (error) {
    if (error instanceof SweepFailedError) return error;
    if (error instanceof SweepTimeoutError) return undefined;
    throw error;
  }
}

function sweepText(record: SweepRecord): string {
  const { sweepId, reason, serviceId, startedAt, finishedAt, slots, tasks, deleted, marked } = record;
  const { conflicts, malformed, failed, unknownServices } = record;
  const some = (count: number, what: string) => (count === 0 ? undefined : `${count} ${what}`);
  return fields([
    ['sweep', sweepId],
    ['reason', reason],
    ['service', serviceId],
    ['begun', time(startedAt)],
    ['done', finishedAt === undefined ? 'not yet' : time(finishedAt)],
    ['slots', slots],
    ['tasks', tasks > 0 ? tasks : undefined],
    ['deleted', deleted],
    ['to be removed', some(marked, 'more, when their agents have stopped them')],
    ['met changes', some(conflicts, 'times; what changed was looked at again')],
    ['malformed', some(malformed, 'tasks; the log of the sweeper names them, and they are kept')],
    ['left out', some(failed, 'slots, which failed again and again; the log of the sweeper says why')],
    [
      'never set',
      unknownServices.length === 0 ? undefined : `${unknownServices.join(', ')}: their slots keep their whole history`,
    ],
  ]);
}
