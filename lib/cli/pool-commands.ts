import { Command, InvalidArgumentError, Option } from 'commander';
import type { Pool, PoolChange, PoolSettings } from '../client/index.ts';
import { InvalidInputError, PoolNotFoundError } from '../client/index.ts';
import type { PoolSettingsInput } from '../nodes/pool.ts';
import { marksAt } from '../plans/rejections.ts';
import { systemClock } from '../time.ts';
import { type Cli, type CommonOptions, commandOf } from './context.ts';
import { BadInputError, NotThereError } from './io.ts';
import { type Cell, counted, fields, table } from './table.ts';

/** `berth pool`. */
export function poolCommands(cli: Cli): Command {
  return new Command('pool')
    .description('pools: sets of nodes, each with one line of plans')
    .addCommand(listCommand(cli))
    .addCommand(showCommand(cli))
    .addCommand(setCommand(cli));
}

function listCommand(cli: Cli): Command {
  return commandOf('list', 'every pool').action((options: CommonOptions) =>
    cli.run(options, async ({ berth, print }) => {
      const pools = await berth.pools();
      print(pools, () =>
        table(
          ['pool', 'index', 'shards', 'made ineligible', 'for', 'stopped tasks'],
          pools.map(({ pool, index, shards, settings }) => [
            ...[pool, index, shards],
            ...[trackerText(settings), ineligibleText(settings), stopText(settings)],
          ]),
          'there is no pool; make one with: berth pool set NAME --create',
        ),
      );
      return undefined;
    }),
  );
}

function showCommand(cli: Cli): Command {
  return commandOf('show', 'the settings of a pool, and its nodes by what they are')
    .argument('<pool>')
    .action((name: string, options: CommonOptions) =>
      cli.run(options, async ({ berth, print }) => {
        const { nodes, readAt: _when, ...pool } = await berth.snapshot(name);
        const count = {
          schedulable: nodes.filter(({ schedulable }) => schedulable).length,
          ineligible: nodes.filter(({ eligibility }) => eligibility === 'ineligible').length,
          draining: nodes.filter(({ drain }) => drain).length,
          notReady: nodes.filter(({ status }) => status !== 'ready').length,
        };
        const marksLeft = marksAt(pool.marks, systemClock(), pool.settings.tracker);
        print({ ...pool, marksLeft, nodes: { all: nodes.length, ...count } }, () =>
          fields([
            ...poolPairs(pool),
            ['marks left', marksLeft.toFixed(1)],
            ['nodes', nodes.length],
            ['  schedulable', count.schedulable],
            ['  ineligible', count.ineligible],
            ['  draining', count.draining],
            ['  not ready', count.notReady],
          ]),
        );
        return undefined;
      }),
    );
}

interface SetOptions extends CommonOptions {
  readonly create?: true;
  readonly shards?: number;
  readonly stopRelease?: OrDefault<'plan' | 'terminal'>;
  readonly ineligibleFor?: OrDefault<number>;
  readonly tracker?: boolean;
  readonly threshold?: OrDefault<number>;
  readonly window?: OrDefault<number>;
  readonly marksPerHour?: OrDefault<number>;
  readonly markBurst?: OrDefault<number>;
}

function setCommand(cli: Cli): Command {
  return commandOf(
    'set',
    'change settings of a pool, or make one; the others stay. Effective from the next batch of plans',
  )
    .argument('<pool>')
    .option('--create', 'make the pool if there is none of that name')
    .option(
      '--shards <n>',
      'partitions that its nodes are spread over, 1 to 64 (default 8); for good, with --create',
      whole,
    )
    .addOption(
      new Option('--stop-release <when>', 'when a stopped task gives back what it held: with the plan, or at its end')
        .choices(['plan', 'terminal', 'default'])
        .argParser(orDefault((value) => choice(value, ['plan', 'terminal']))),
    )
    .option(
      '--ineligible-for <seconds>',
      'how long a node is ineligible that was refused too often (default: for good)',
      orDefault(whole),
    )
    .addOption(
      new Option('--tracker <on|off>', 'whether nodes that are refused too often are made ineligible')
        .choices(['on', 'off'])
        .argParser((value) => choice(value, ['on', 'off']) === 'on'),
    )
    .option('--threshold <n>', 'refusals in the window that make a node ineligible (default 100)', orDefault(whole))
    .option('--window <seconds>', 'how long a refusal counts (default 300)', orDefault(whole))
    .option('--marks-per-hour <n>', 'nodes that may be made ineligible in an hour (default 10)', orDefault(number))
    .option('--mark-burst <n>', 'how many of these are saved up at the most (default 10)', orDefault(whole))
    .addHelpText('after', '\nSet to `default`, a setting is what it is when nothing is said of it.')
    .action((name: string, options: SetOptions) =>
      cli.run(options, async ({ berth, print }) => {
        const change = changeOf(options);
        const { create, shards } = options;
        if (!create && shards !== undefined) {
          throw new BadInputError(
            '--shards is for good and cannot be changed: leave it out, or use --create for a new pool',
          );
        }
        const exists = await berth.pool(name).catch((error: unknown) => {
          if (error instanceof PoolNotFoundError && create) return undefined;
          throw error instanceof PoolNotFoundError
            ? new NotThereError(`there is no pool ${name}; to make it, add --create`, { cause: error })
            : error;
        });
        if (exists && Object.keys(change).length === 0) {
          throw new BadInputError(`nothing is to be changed of pool ${name}; see: berth pool set --help`);
        }
        // In one request: a pool with settings that are wrong is not made first, and then told to be wrong.
        const made = { pool: name, settings: settingsOf(change), ...(shards === undefined ? {} : { shards }) };
        const pool = await byOption(exists ? berth.changePool(name, change) : berth.registerPool(made));
        print(pool, () => `${exists ? 'changed' : 'made'}\n${fields(poolPairs(pool))}`);
        return undefined;
      }),
    );
}

function changeOf({
  stopRelease,
  ineligibleFor,
  tracker,
  threshold,
  window,
  marksPerHour,
  markBurst,
}: SetOptions): PoolChange {
  const trackerChange = {
    ...(tracker === undefined ? {} : { enabled: tracker }),
    ...(threshold === undefined ? {} : { threshold: nullable(threshold) }),
    ...(window === undefined ? {} : { windowSeconds: nullable(window) }),
    ...(marksPerHour === undefined ? {} : { markRatePerSecond: marksPerHour === DEFAULT ? null : marksPerHour / 3600 }),
    ...(markBurst === undefined ? {} : { markBurst: nullable(markBurst) }),
  };
  return {
    ...(stopRelease === undefined ? {} : { stopRelease: nullable(stopRelease) }),
    ...(ineligibleFor === undefined ? {} : { ineligibleForSeconds: nullable(ineligibleFor) }),
    ...(Object.keys(trackerChange).length === 0 ? {} : { tracker: trackerChange }),
  };
}

/** The settings of a pool that is new: what is to be as by default is left out. */
function settingsOf({ tracker, ...change }: PoolChange): PoolSettingsInput {
  return { ...withoutNulls(change), ...(tracker === undefined ? {} : { tracker: withoutNulls(tracker) }) };
}

function withoutNulls<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], null> } {
  const given = Object.entries(values).filter(([, value]) => value !== null);
  return Object.fromEntries(given) as { [K in keyof T]: Exclude<T[K], null> };
}

/** Options by the paths of what they set. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ['shards', '--shards'],
  ['ineligibleForSeconds', '--ineligible-for'],
  ['tracker.threshold', '--threshold'],
  ['tracker.windowSeconds', '--window'],
  ['tracker.markBurst', '--mark-burst'],
]);
/** This one is of another unit than what it sets. */
const RATE = {
  path: 'tracker.markRatePerSecond',
  told: '--marks-per-hour: expected a number above 0, at most 3600000',
};

/** What `call` comes to; what it says of a setting is said of the option that names it. */
async function byOption<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    // Those of a new pool are a part of it.
    const problems = error.problems.map(({ path, message }) => ({ path: path.replace(/^settings\./, ''), message }));
    if (!problems.every(({ path }) => OPTIONS.has(path) || path === RATE.path)) throw error;
    const told = problems.map(({ path, message }) =>
      path === RATE.path ? RATE.told : `${OPTIONS.get(path)}: ${message}`,
    );
    throw new BadInputError(told.join('; '), { cause: error });
  }
}

/** A whole number, for the schema to say whether it is in range. */
export function whole(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new InvalidArgumentError('A whole number is expected.');
  return Number(value);
}

function number(value: string): number {
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(value)) throw new InvalidArgumentError('A number is expected, such as 10 or 0.5.');
  return Number(value);
}

function choice<const C extends string>(value: string, choices: readonly C[]): C {
  const found = choices.find((one) => one === value);
  if (found === undefined) throw new InvalidArgumentError(`One of ${choices.join(', ')} is expected.`);
  return found;
}

/** A setting, or that it is to be what it is by default. Not null: commander takes that for an option without a value. */
type OrDefault<T> = T | typeof DEFAULT;
const DEFAULT = 'default';

function orDefault<T>(parse: (value: string) => T): (value: string) => OrDefault<T> {
  return (value) => (value === DEFAULT ? DEFAULT : parse(value));
}

/** `value` as a change has it: null for the default. */
function nullable<T>(value: OrDefault<T>): T | null {
  return value === DEFAULT ? null : (value as T);
}

function poolPairs({ pool, index, shards, settings }: Pool): (readonly [string, Cell])[] {
  return [
    ['pool', pool],
    ['index', index],
    ['shards', shards],
    ['made ineligible', trackerText(settings)],
    ['for', ineligibleText(settings)],
    ['at most', marksText(settings)],
    ['stopped tasks', stopText(settings)],
  ];
}

function trackerText({ tracker: { enabled, threshold, windowSeconds } }: PoolSettings): string {
  return enabled ? `${counted(threshold, 'refusal')} in ${windowSeconds} s` : 'never';
}

function marksText({ tracker: { markRatePerSecond, markBurst } }: PoolSettings): string {
  return `${Number((markRatePerSecond * 3600).toFixed(3))} nodes an hour, ${markBurst} at once`;
}

function ineligibleText({ ineligibleForSeconds: seconds }: PoolSettings): string {
  return seconds === undefined ? 'until an operator says so' : `${seconds} s`;
}

function stopText({ stopRelease }: PoolSettings): string {
  return stopRelease === 'plan' ? 'give back at once' : 'give back at their end';
}
