import type { Command } from 'commander';
import type { Discarded } from '../client/index.ts';
import { type Cli, type CommonOptions, commandOf } from './context.ts';
import { BadInputError, confirmed, EXIT } from './io.ts';
import { counted } from './table.ts';

interface GiveUpOptions extends CommonOptions {
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly force?: boolean;
}

const NOTHING = 'dead-letters: nothing';

/** Messages that are counted before somebody is asked. Of a pool only ten can be seen as long as those are there. */
const MOST_COUNTED = 1_000;

/** What a command takes that is about some messages. */
export const THEIR_IDS = 'their ids, or those of their plans, from the list';

/** `berth dead-letters discard`. */
export function giveUpCommand(cli: Cli): Command {
  return commandOf(
    'discard',
    'give plans up: what they have reserved goes back, their workers are told, the messages go',
  )
    .argument('[messages...]', THEIR_IDS)
    .option('--all', 'all of them')
    .option('--yes', 'do not ask')
    .option('--force', 'delete also what is no plan or cannot be turned back, whatever it has reserved')
    .action((messageIds: string[], { all, yes = false, force = false, ...options }: GiveUpOptions) =>
      cli.run(
        options,
        async ({ berth, print, io }) => {
          const which = whichOf(messageIds, all);
          const seen =
            which === 'all' && !yes ? (await berth.deadLetters.list({ limit: MOST_COUNTED })).length : undefined;
          if (seen === 0) {
            print([], () => NOTHING);
            return EXIT.done;
          }
          const what = which === 'all' ? `all messages (${seen} can be seen now)` : counted(which.length, 'message');
          if (!yes && !(await confirmed(io, `give up ${what}, for good`))) {
            io.err('nothing was done\n');
            return EXIT.no;
          }
          const outcomes = await berth.deadLetters.discard(which, { force });
          print(outcomes, () => (outcomes.length === 0 ? NOTHING : outcomesText(outcomes)));
          return outcomes.every(({ refusal }) => refusal === undefined) ? EXIT.done : EXIT.no;
        },
        ['plansDead'],
      ),
    );
}

/** Which messages somebody means. Throws BadInputError unless exactly one of both says so. */
export function whichOf(messageIds: readonly string[], all = false): 'all' | readonly string[] {
  if (all === messageIds.length > 0) {
    throw new BadInputError('which messages? Name their ids, or --all for all of them');
  }
  return all ? 'all' : messageIds;
}

function outcomesText(outcomes: readonly Discarded[]): string {
  const gone = outcomes.filter(({ refusal }) => refusal === undefined);
  return [
    `discarded ${counted(gone.length, 'message')}`,
    ...outcomes.map((outcome) => `${outcome.messageId}: ${outcome.refusal ?? endOf(outcome)}`),
  ].join('\n');
}

/** What has become of the plan of a message that is gone. */
function endOf({ planId, result, stored }: Discarded): string {
  if (planId === undefined) return 'no plan';
  if (!result) return `plan ${planId}, without a result`;
  if (stored) return `plan ${planId} had its result: ${result.status}`;
  const { placements, stops, preemptions } = result.committed;
  const changes = placements + stops + preemptions;
  const stays = changes === 0 ? 'nothing of it was committed' : `${counted(changes, 'change')} committed before`;
  return `plan ${planId} was given up: ${result.status}, ${stays}`;
}
