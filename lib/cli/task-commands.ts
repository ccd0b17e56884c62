import { Command } from 'commander';
import type { SlotHistory } from '../client/index.ts';
import { type Cli, type CommonOptions, commandOf } from './context.ts';
import { table, time } from './table.ts';

/** `berth task`. */
export function taskCommands(cli: Cli): Command {
  return new Command('task').description('tasks of slots').addCommand(historyCommand(cli));
}

function historyCommand(cli: Cli): Command {
  return commandOf('history', 'the tasks of a slot, and of each what the reaper would do about it now, and why')
    .argument('<slot>', 'service#number, or service@node for a global service')
    .action((slot: string, options: CommonOptions) =>
      cli.run(options, async ({ berth, print }) => {
        const history = await berth.taskHistory(slot);
        // JSON has no infinity.
        const limit = history.limit === Number.POSITIVE_INFINITY ? -1 : history.limit;
        print({ ...history, limit }, () => historyText(history));
        return undefined;
      }),
    );
}

function historyText({ slotKey, service, limit, tasks, malformed }: SlotHistory): string {
  const rows = tasks.map(({ task, verdict, why }) => [
    ...[task.taskId, task.state, task.desiredState, time(task.appliedAt), verdict, why],
  ]);
  const head = ['task', 'state', 'desired', 'since', '', 'why'];
  return [
    table(head, rows, `there is no task in slot ${slotKey}`),
    ...(malformed.length === 0
      ? []
      : [
          table(
            ['malformed, and kept', 'problem'],
            malformed.map(({ key, problem }) => [key, problem]),
            '',
          ),
        ]),
    limitText(service, limit),
  ].join('\n\n');
}

function limitText(service: SlotHistory['service'], limit: number | undefined): string {
  if (service === 'unknown') return 'the service was never set, so that the slot keeps its whole history';
  if (service === 'removed') return 'the service is removed: everything goes';
  if (service === 'none') return 'these tasks are of no service';
  return limit === Number.POSITIVE_INFINITY ? 'the slot keeps all old tasks' : `the slot keeps ${limit} old tasks`;
}
