import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { TRACKER_DEFAULTS } from '../lib/settings.ts';
import { BadInputError } from './workload/problems.ts';

/** Files to be written, and how much is printed. */
interface OutputOptions {
  readonly json: string | undefined;
  readonly report: string | undefined;
  readonly quiet: boolean;
}

/** A workload is replayed. */
export interface WorkloadDemoOptions extends OutputOptions {
  readonly kind: 'workload';
  /** Files of the openb format, both or none. */
  readonly files: { readonly nodes: string; readonly tasks: string } | undefined;
  readonly workers: number;
  readonly seed: number;
  /** Nodes to be added that look good to the workers and refuse whatever is placed on them. */
  readonly badNodes: number;
}

/** An evening and a night of the node scaler are played. */
export interface ScalerDemoOptions extends OutputOptions {
  readonly kind: 'scaler';
  readonly seed: number;
  /** File for the kubeconfig of the simulated cluster. */
  readonly kubeconfig: string | undefined;
}

export type DemoOptions = WorkloadDemoOptions | ScalerDemoOptions;

const MAX_WORKERS = 64;
const MAX_SEED = 2_147_483_647;
/** So many nodes a pool makes ineligible at once; one more would be refused until a mark is free, minutes later. */
const MAX_BAD_NODES = TRACKER_DEFAULTS.markBurst;

/**
 * What the command line asks for; undefined if it asked for help, which was printed then.
 *
 * @throws BadInputError with what is wrong with it
 */
export function parseOptions(argv: readonly string[]): DemoOptions | undefined {
  const command = demoCommand();
  try {
    command.parse(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return undefined;
    if (error instanceof CommanderError)
      throw new BadInputError(error.message.replace(/^error: /, ''), { cause: error });
    throw error;
  }
  const given = command.opts<CommandLine>();
  const { json, report, kubeconfig } = given;
  const outputs = [json, report, kubeconfig].filter((file) => file !== undefined);
  if (new Set(outputs).size < outputs.length) {
    throw new BadInputError('--json, --report and --kubeconfig need a file each, and two of these are one');
  }
  return given.scaler ? scalerOptions(command, given) : workloadOptions(given);
}

function scalerOptions(command: Command, { seed, json, report, kubeconfig, quiet }: CommandLine): ScalerDemoOptions {
  for (const name of ['nodes', 'tasks', 'workers', 'badNodes'] as const) {
    if (command.getOptionValueSource(name) !== 'cli') continue;
    const option = command.options.find((one) => one.attributeName() === name)?.long;
    throw new BadInputError(`--scaler and ${option} exclude each other: it plays its own scene, and no workload`);
  }
  return { kind: 'scaler', seed, json, report, kubeconfig, quiet };
}

function workloadOptions(given: CommandLine): WorkloadDemoOptions {
  const { nodes, tasks, workers, seed, badNodes, json, report, kubeconfig, quiet } = given;
  if (kubeconfig !== undefined) {
    throw new BadInputError('--kubeconfig needs --scaler: there is no cluster of Kubernetes in a workload');
  }
  if ((nodes === undefined) !== (tasks === undefined)) {
    const [one, missing] = nodes === undefined ? ['--tasks', '--nodes'] : ['--nodes', '--tasks'];
    throw new BadInputError(`${one} needs ${missing} too: the nodes and the tasks of a trace belong together`);
  }
  const files = nodes === undefined || tasks === undefined ? undefined : { nodes, tasks };
  return { kind: 'workload', files, workers, seed, badNodes, json, report, quiet };
}

type Outputs = Pick<OutputOptions, 'json' | 'report'> & { readonly kubeconfig?: string | undefined };

/** @throws BadInputError if one of the files to be written cannot be: now, not after minutes of work. */
export async function checkOutputs(options: Outputs): Promise<void> {
  const { json, report, kubeconfig } = options;
  for (const [option, file] of [
    ['--json', json],
    ['--report', report],
    ['--kubeconfig', kubeconfig],
  ] as const) {
    const why = file === undefined ? undefined : await whyUnwritable(file);
    if (why !== undefined) throw new BadInputError(`${option} ${file}: ${why}`);
  }
}

interface CommandLine {
  readonly nodes?: string;
  readonly tasks?: string;
  readonly workers: number;
  readonly seed: number;
  readonly badNodes: number;
  readonly scaler: boolean;
  readonly json?: string;
  readonly report?: string;
  readonly kubeconfig?: string;
  readonly quiet: boolean;
}

function demoCommand(): Command {
  return new Command('npm run demo --')
    .description(
      'Starts Berth on this machine, replays a workload through it with several scheduler workers, and checks that nothing was overcommitted, lost or done twice.',
    )
    .option('--nodes <file>', 'nodes to register, in the openb format (CSV); with --tasks')
    .option(
      '--tasks <file>',
      'tasks to replay, in the openb format (CSV); with --nodes. Without: 200 nodes and 2,000 tasks, made up',
    )
    .option('--workers <number>', `scheduler workers, 1 to ${MAX_WORKERS}`, wholeNumber(1, MAX_WORKERS), 4)
    .option('--seed <number>', 'seed of what is made up and of what the workers choose', wholeNumber(0, MAX_SEED), 1)
    .option(
      '--bad-nodes <number>',
      `nodes to add that workers choose and that refuse each time, 0 to ${MAX_BAD_NODES}: shows how they are found and taken out`,
      wholeNumber(0, MAX_BAD_NODES),
      0,
    )
    .option(
      '--scaler',
      'play an evening and a night of the node scaler instead, with a simulated EKS: a pool from 3 nodes to 12 and back',
      false,
    )
    .option('--kubeconfig <file>', 'with --scaler: write a kubeconfig of the simulated cluster to this file')
    .option('--json <file>', 'write the summary to this file')
    .option('--report <file>', 'write a page with charts to this file (HTML)')
    .option('--quiet', 'print the summary alone', false)
    .addHelpText(
      'after',
      '\nExit status: 0 all is well, 1 an invariant or a bound is broken or a bad node was not taken out, 2 the input is wrong.',
    )
    .exitOverride()
    .configureOutput({ outputError: () => undefined, writeErr: () => undefined });
}

function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`A whole number from ${min} to ${max} is expected.`);
  };
}

/** Why nothing can be written to `file`; undefined if it can. */
async function whyUnwritable(file: string): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) return 'a file is expected, this is a directory';
  const target = found === undefined ? dirname(file) : file;
  try {
    const folder = await stat(target);
    if (found === undefined && !folder.isDirectory()) return `${target} is no directory`;
    await access(target, constants.W_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? `there is no directory ${target}` : `it cannot be written: ${code ?? String(error)}`;
  }
}
