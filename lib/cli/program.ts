import { Command } from 'commander';
import { auditCommand } from './audit-command.ts';
import { cliOf } from './context.ts';
import { failureOf } from './failure.ts';
import { EXIT, type ExitStatus, type Io, readableIo } from './io.ts';
import { nodeCommands } from './node-commands.ts';
import { planCommands } from './plan-commands.ts';
import { poolCommands } from './pool-commands.ts';
import { scalerCommands } from './scaler-commands.ts';
import { serviceCommands } from './service-commands.ts';
import { setAsideCommands } from './set-aside-commands.ts';
import { sweepCommand } from './sweep-command.ts';
import { taskCommands } from './task-commands.ts';

const HELP = `
Berth is found by the variables BERTH_*, which the local engine prints, or by
--prefix; AWS is found as the AWS SDK finds it.

Exit status:
  0  done
  1  failed: what is named is not there, what is there does not allow it, or
     AWS could not be reached
  2  the command line, a file or the environment is wrong; nothing was sent
  3  done, and the answer is no: a plan that was not applied in full, an
     account that drifted, a message that stays, a slot that a sweep left out,
     a node pool that is not as it should be`;

/** Runs the command line `argv`, without the names of the interpreter and the script; answers the exit status. */
export async function run(argv: readonly string[], given: Io): Promise<ExitStatus> {
  const io = readableIo(given);
  let status: ExitStatus = EXIT.done;
  const cli = cliOf(io, (outcome) => {
    status = outcome;
  });
  const program = new Command('berth')
    .description('Looks after pools, nodes, plans, the history of tasks and node pools of Berth.')
    .addHelpText('after', HELP)
    .addCommand(poolCommands(cli))
    .addCommand(nodeCommands(cli))
    .addCommand(planCommands(cli))
    .addCommand(serviceCommands(cli))
    .addCommand(taskCommands(cli))
    .addCommand(scalerCommands(cli));
  for (const command of setAsideCommands(cli)) program.addCommand(command);
  program.addCommand(auditCommand(cli));
  program.addCommand(sweepCommand(cli));
  for (const command of everyCommand(program)) {
    command
      .exitOverride()
      .configureOutput({ writeOut: io.out, writeErr: io.err })
      .helpOption('--help', 'show this help')
      .allowExcessArguments(false)
      .showHelpAfterError('(add --help for what there is)');
  }
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return status;
  } catch (error) {
    const failure = failureOf(error);
    if (failure.message !== '') io.err(`berth: ${failure.message}\n`);
    return failure.status;
  }
}

function* everyCommand(command: Command): Generator<Command> {
  yield command;
  for (const inner of command.commands) yield* everyCommand(inner);
}
