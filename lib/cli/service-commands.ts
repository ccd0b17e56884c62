import { Command, InvalidArgumentError } from 'commander';
import type { Berth, ServiceMode, ServiceSpecInput } from '../client/index.ts';
import { HISTORY } from '../settings.ts';
import { SERVICE_MODES } from '../tasks/service.ts';
import { type Cli, type CommonOptions, commandOf } from './context.ts';
import { BadInputError } from './io.ts';
import { fields, table, time } from './table.ts';

/** `berth service`. */
export function serviceCommands(cli: Cli): Command {
  return new Command('service')
    .description('services: what the task reaper must know of them')
    .addCommand(listCommand(cli))
    .addCommand(setCommand(cli))
    .addCommand(removeCommand(cli))
    .addCommand(scaleCommand(cli))
    .addCommand(defaultCommand(cli));
}

function listCommand(cli: Cli): Command {
  return commandOf('list', 'every service that is set, and those that were removed lately').action(
    (options: CommonOptions) =>
      cli.run(options, async ({ berth, print }) => {
        const malformed: { readonly key: string; readonly problem: string }[] = [];
        const services = await berth.services({ onMalformed: (record) => malformed.push(record) });
        const limit = (await berth.historyLimit()) ?? HISTORY.limit;
        print({ historyLimit: limit, services, malformed }, () =>
          [
            table(
              ['service', 'mode', 'keeps of a slot', 'restart attempts', 'job iteration', 'removed'],
              services.map((service) => [
                ...[service.serviceId, service.mode, keepsText(service.historyLimit, limit)],
                ...[attemptsText(service.restartMaxAttempts), service.jobIteration, time(service.removedAt)],
              ]),
              'no service is set, so that slots keep their whole history; set one with: berth service set ID --mode MODE',
            ),
            ...malformed.map(({ key, problem }) => `malformed: ${key}: ${problem}`),
            `where a service says nothing of it, a slot keeps ${limitText(limit)}`,
          ].join('\n\n'),
        );
        return undefined;
      }),
  );
}

interface SetOptions extends CommonOptions {
  readonly mode?: ServiceMode;
  readonly historyLimit?: number | typeof DEFAULT;
  readonly restartMaxAttempts?: number;
  readonly jobIteration?: number;
}

function setCommand(cli: Cli): Command {
  return commandOf('set', 'tell of a service, or change what was told; what is not named stays as it is')
    .argument('<service>')
    .option('--mode <mode>', `one of ${SERVICE_MODES.join(', ')}; needed the first time`, mode)
    .option(
      '--history-limit <n>',
      'old tasks that each of its slots keeps: 0 none, -1 all, `default` as the cluster',
      limit,
    )
    .option(
      '--restart-max-attempts <n>',
      'restarts after which a slot is given up, 0 never; one task more is kept',
      count,
    )
    .option('--job-iteration <n>', 'the run of a job that is the present one', count)
    .action((serviceId: string, options: SetOptions) =>
      cli.run(
        options,
        async ({ berth, print }) => {
          const { set, sweepId } = await berth.setService(await specOf(berth, serviceId, options));
          const ofCluster = (await berth.historyLimit()) ?? HISTORY.limit;
          print({ ...set, sweepId }, () =>
            fields([
              ['service', set.serviceId],
              ['mode', set.mode],
              ['keeps of a slot', keepsText(set.historyLimit, ofCluster)],
              ['restart attempts', attemptsText(set.restartMaxAttempts)],
              ['job iteration', set.jobIteration],
              ['sweep', sweepId],
            ]),
          );
          return undefined;
        },
        ['sweep'],
      ),
    );
}

/** The service as it is, with what is to be changed. */
async function specOf(berth: Berth, serviceId: string, options: SetOptions): Promise<ServiceSpecInput> {
  const before = (await berth.services()).find((service) => service.serviceId === serviceId);
  const serviceMode = options.mode ?? before?.mode;
  if (serviceMode === undefined) {
    throw new BadInputError(
      `service ${serviceId} was not set before: say of which mode it is, with --mode ${SERVICE_MODES.join('|')}`,
    );
  }
  const historyLimit = options.historyLimit ?? before?.historyLimit;
  return {
    serviceId,
    mode: serviceMode,
    ...(historyLimit === undefined || historyLimit === DEFAULT ? {} : { historyLimit }),
    restartMaxAttempts: options.restartMaxAttempts ?? before?.restartMaxAttempts ?? 0,
    jobIteration: options.jobIteration ?? before?.jobIteration ?? 0,
  };
}

function removeCommand(cli: Cli): Command {
  return commandOf('remove', 'remove a service: all its tasks go, those that run when their agents have stopped them')
    .argument('<service>')
    .action((serviceId: string, options: CommonOptions) =>
      cli.run(
        options,
        async ({ berth, print }) => {
          const sweepId = await berth.removeService(serviceId);
          print({ serviceId, sweepId }, () => `removed; its tasks go with sweep ${sweepId}`);
          return undefined;
        },
        ['sweep'],
      ),
    );
}

function scaleCommand(cli: Cli): Command {
  return commandOf('scale', 'scale slots of a service away: all tasks of theirs go, history included')
    .argument('<service>')
    .requiredOption('--away <slots>', 'the slots that go, as in 4-9,12', ranges)
    .action((serviceId: string, { away, ...options }: CommonOptions & { readonly away: [number, number][] }) =>
      cli.run(
        options,
        async ({ berth, print }) => {
          const sweepId = await berth.scaleService(serviceId, away);
          print({ serviceId, away, sweepId }, () => `scaled; the tasks of these slots go with sweep ${sweepId}`);
          return undefined;
        },
        ['sweep'],
      ),
    );
}

function defaultCommand(cli: Cli): Command {
  return commandOf('default', 'what is kept of the slots of services that say nothing of it; without options: show it')
    .option('--history-limit <n>', 'old tasks that a slot keeps: 0 none, -1 all, `default` for 5', limit)
    .action(({ historyLimit, ...options }: CommonOptions & Pick<SetOptions, 'historyLimit'>) =>
      cli.run(
        options,
        async ({ berth, print }) => {
          const change = historyLimit === DEFAULT ? null : historyLimit;
          const { sweepId } = change === undefined ? {} : await berth.setHistoryLimit(change);
          const now = (await berth.historyLimit()) ?? HISTORY.limit;
          print({ historyLimit: now, sweepId }, () =>
            fields([
              ['a slot keeps', limitText(now)],
              ['sweep', sweepId],
            ]),
          );
          return undefined;
        },
        historyLimit === undefined ? [] : ['sweep'],
      ),
    );
}

const DEFAULT = 'default';

function mode(value: string): ServiceMode {
  const found = SERVICE_MODES.find((one) => one === value);
  if (found === undefined) throw new InvalidArgumentError(`One of ${SERVICE_MODES.join(', ')} is expected.`);
  return found;
}

function limit(value: string): number | typeof DEFAULT {
  if (value === DEFAULT) return DEFAULT;
  if (!/^-?\d{1,15}$/.test(value)) throw new InvalidArgumentError('A whole number is expected, or `default`.');
  return Number(value);
}

/** SwarmKit's counts are of 64 bits: one past the safe integers stands for as many as there can be. */
function count(value: string): number {
  if (!/^\d{1,20}$/.test(value)) throw new InvalidArgumentError('A whole number from 0 on is expected.');
  return Number(value);
}

function ranges(value: string): [number, number][] {
  return value.split(',').map((part): [number, number] => {
    const [, from, to = from] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(part.trim()) ?? [];
    if (from === undefined) throw new InvalidArgumentError('Numbers of slots and ranges are expected, as in 4-9,12.');
    return [Number(from), Number(to)];
  });
}

function keepsText(own: number | undefined, ofCluster: number): string {
  return own === undefined ? `${limitText(ofCluster)} (the cluster's)` : limitText(own);
}

function limitText(kept: number): string {
  return kept < 0 ? 'all old tasks' : `${kept} old task${kept === 1 ? '' : 's'}`;
}

function attemptsText(attempts: number): string {
  return attempts === 0 ? 'any number' : String(attempts);
}
