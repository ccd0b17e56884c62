import { Command } from 'commander';
import type { Redriven, SetAside, SetAsideMessage } from '../client/index.ts';
import { clip } from '../schema.ts';
import { type Cli, type CommonOptions, commandOf, type Run } from './context.ts';
import { giveUpCommand, THEIR_IDS, whichOf } from './give-up-command.ts';
import { EXIT, NotThereError } from './io.ts';
import { whole } from './pool-commands.ts';
import { counted, fields, table, time } from './table.ts';

/** One of the two queues that hold messages that were set aside, as commands have it. */
interface Place {
  readonly name: string;
  readonly description: string;
  readonly queue: 'plansDead' | 'quarantine';
  readonly of: (berth: Run['berth']) => Omit<SetAside, 'discard'>;
  readonly discard: (cli: Cli) => Command;
}

const QUARANTINE: Place = {
  name: 'quarantine',
  description: 'messages that were no plans, or could never be decided',
  queue: 'quarantine',
  of: (berth) => berth.quarantine,
  discard: discardCommand,
};

const DEAD_LETTERS: Place = {
  name: 'dead-letters',
  description: 'plans that were received too often without a result',
  queue: 'plansDead',
  of: (berth) => berth.deadLetters,
  discard: giveUpCommand,
};

/** `berth quarantine` and `berth dead-letters`. */
export function setAsideCommands(cli: Cli): Command[] {
  return [QUARANTINE, DEAD_LETTERS].map((place) =>
    new Command(place.name)
      .description(place.description)
      .addCommand(listCommand(cli, place))
      .addCommand(showCommand(cli, place))
      .addCommand(redriveCommand(cli, place))
      .addCommand(place.discard(cli)),
  );
}

interface LimitOptions extends CommonOptions {
  readonly limit: number;
}

function listCommand(cli: Cli, { of, queue, name }: Place): Command {
  return commandOf('list', `the first messages${queue === 'plansDead' ? ', at most ten of a pool' : ''}`)
    .option('--limit <n>', 'how many', whole, 100)
    .action(({ limit, ...options }: LimitOptions) =>
      cli.run(
        options,
        async ({ berth, print }) => {
          const messages = await of(berth).list({ limit });
          print(messages, () =>
            table(
              ['message', 'pool', 'plan', 'since', 'bytes', 'reason'],
              messages.map((message) => [
                ...[message.messageId, message.pool ?? '-', message.planId ?? '-', time(message.at)],
                ...[Buffer.byteLength(message.body), reasonText(message)],
              ]),
              `${name}: nothing`,
            ),
          );
          return undefined;
        },
        [queue],
      ),
    );
}

function showCommand(cli: Cli, { of, queue, name }: Place): Command {
  return commandOf('show', 'a message as it came')
    .argument('<message>', 'its id, or that of its plan, from the list')
    .option('--limit <n>', 'how many to look at', whole, 100)
    .action((messageId: string, { limit, ...options }: LimitOptions) =>
      cli.run(
        options,
        async ({ berth, print }) => {
          const messages = await of(berth).list({ limit });
          const message =
            messages.find((one) => one.messageId === messageId) ?? messages.find(({ planId }) => planId === messageId);
          if (!message) {
            throw new NotThereError(
              `message ${messageId} is not among the first ${limit} of ${name}; see: berth ${name} list`,
            );
          }
          print(message, () => `${messageText(message)}\n\n${message.body}`);
          return undefined;
        },
        [queue],
      ),
    );
}

interface RedriveOptions extends CommonOptions {
  readonly all?: boolean;
  readonly again?: boolean;
}

function redriveCommand(cli: Cli, { of, queue }: Place): Command {
  return commandOf('redrive', 'send messages back to the plan queue as they came, once their cause is mended')
    .argument('[messages...]', THEIR_IDS)
    .option('--all', 'all of them, in their order')
    .option(
      '--again',
      'also those that were redriven before: a plan whose result has expired takes effect a second time',
    )
    .action((messageIds: string[], { all, again = false, ...options }: RedriveOptions) =>
      cli.run(
        options,
        async ({ berth, print }) => {
          const outcomes = await of(berth).redrive(whichOf(messageIds, all), { again });
          print(outcomes, () => outcomesText(outcomes));
          return outcomes.every(({ refusal }) => refusal === undefined) ? EXIT.done : EXIT.no;
        },
        [queue],
      ),
    );
}

function discardCommand(cli: Cli): Command {
  return commandOf('discard', 'delete messages for good')
    .argument('<messages...>', THEIR_IDS)
    .action((messageIds: string[], options: CommonOptions) =>
      cli.run(
        options,
        async ({ berth, print }) => {
          const gone = await berth.quarantine.discard(messageIds);
          const missing = messageIds.filter((id) => !gone.includes(id));
          print({ discarded: gone, missing }, () =>
            [`discarded ${counted(gone.length, 'message')}`, ...missing.map((id) => `${id} was not found`)].join('\n'),
          );
          return missing.length === 0 ? EXIT.done : EXIT.no;
        },
        ['quarantine'],
      ),
    );
}

function reasonText({ reason, redrivenAt, incomplete }: SetAsideMessage): string {
  const again = redrivenAt === undefined ? '' : `, redriven at ${redrivenAt}`;
  return `${clip(incomplete ?? reason ?? 'received too often', 100)}${again}`;
}

function messageText(message: SetAsideMessage): string {
  return fields([
    ['message', message.messageId],
    ['pool', message.pool ?? '-'],
    ['plan', message.planId ?? '-'],
    ['since', time(message.at)],
    ['reason', incompleteOr(message)],
    ['came from', message.source],
    ['where it was', message.originalMessageId],
    ['redriven', message.redrivenAt],
    ['bytes', Buffer.byteLength(message.body)],
  ]);
}

function incompleteOr({ incomplete, reason }: SetAsideMessage): string {
  return incomplete ?? reason ?? 'received too often';
}

function outcomesText(outcomes: readonly Redriven[]): string {
  const sent = outcomes.filter(({ refusal }) => refusal === undefined).length;
  const stays = outcomes.flatMap(({ messageId, refusal }) =>
    refusal === undefined ? [] : [`${messageId}: ${refusal}`],
  );
  return [`redrove ${counted(sent, 'message')}`, ...stays].join('\n');
}
