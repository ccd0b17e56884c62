import { Command } from 'commander';
import { berthOver } from '../client/berth.ts';
import { type Connection, openConnection } from '../client/connection.ts';
import type { Berth } from '../client/index.ts';
import type { QueueName } from '../store/tables.ts';
import { clientEnvironment } from './environment.ts';
import type { ExitStatus, Io } from './io.ts';
import { Patience } from './patience.ts';
import { json } from './table.ts';

/** Options that every command takes. */
export interface CommonOptions {
  readonly json?: true;
  readonly prefix?: string;
}

/** What a command works with while it runs. */
export interface Run {
  readonly berth: Berth;
  /** What `berth` works with; closed with it. */
  readonly connection: Connection;
  /** In which the deployment is found. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where it shows how it goes on: nobody watches if JSON was asked for. */
  readonly io: Io;
  /** Prints what there is to say: `value` as JSON where that was asked for, else the text. */
  print(value: unknown, text: () => string): void;
}

/** What the commands are made with. */
export interface Cli {
  readonly io: Io;
  /**
   * Runs `work` with a client that finds the plan queue and `queues`, and closes it. What it answers is the exit status of the
   * process; nothing: it was done.
   */
  run(
    options: CommonOptions,
    work: (run: Run) => Promise<ExitStatus | undefined>,
    queues?: readonly QueueName[],
  ): Promise<void>;
  /** Runs `work`, which needs neither a deployment nor AWS, and so no variable and no credentials. */
  runOffline(options: CommonOptions, work: (run: OfflineRun) => Promise<ExitStatus | undefined>): Promise<void>;
}

/** What a command works with that asks nobody. */
export type OfflineRun = Pick<Run, 'print' | 'io'>;

export function cliOf(io: Io, finished: (status: ExitStatus) => void): Cli {
  const offlineRun = (asJson: true | undefined): OfflineRun => ({
    print: (value, text) => io.out(`${asJson ? json(value) : text()}\n`),
    io: asJson ? { ...io, terminal: undefined } : io,
  });
  return {
    io,
    async run({ json: asJson, prefix }, work, queues = []) {
      const patience = new Patience(io.env, (line) => io.err(`${line}\n`));
      let berth: ReturnType<typeof berthOver> | undefined;
      try {
        const env = await clientEnvironment(io.env, prefix, queues, patience);
        const connection = openConnection({ env });
        patience.watch('dynamodb', connection.dynamo);
        patience.watch('sqs', connection.sqs);
        berth = berthOver(connection);
        const status = await work({ berth, connection, env, ...offlineRun(asJson) });
        if (status !== undefined) finished(status);
      } catch (error) {
        throw patience.explained(error);
      } finally {
        patience.close();
        berth?.close();
      }
    },
    async runOffline({ json: asJson }, work) {
      const status = await work(offlineRun(asJson));
      if (status !== undefined) finished(status);
    },
  };
}

/** A command that takes what every command takes. */
export function commandOf(usage: string, description: string): Command {
  return new Command(usage)
    .description(description)
    .option('--json', 'print JSON')
    .option('--prefix <name>', 'the deployment whose names begin so (default: the variables BERTH_*)');
}
