import { Command, InvalidArgumentError, Option } from 'commander';
import { readClusters } from '../scaler/cluster-settings.ts';
import { CLUSTERS_ENV } from '../store/tables.ts';
import { type Cli, commandOf } from './context.ts';
import { BadInputError } from './io.ts';
import { checksText, dryTick, withGone } from './scaler-check.ts';
import { cordonsIn, lookAtNodes } from './scaler-cordons.ts';
import { clustersText, exitOf, type Look, type OverOptions, overClusters } from './scaler-over-clusters.ts';
import { type PoolView, poolsText, poolView } from './scaler-view.ts';

/** `berth scaler`. */
export function scalerCommands(cli: Cli): Command {
  return new Command('scaler')
    .description('node pools: how they are, what the next tick would do, and how their targets go on')
    .addCommand(statusCommand(cli))
    .addCommand(checkCommand(cli))
    .addCommand(timetableCommand(cli));
}

function aboutClusters(usage: string, description: string): Command {
  return commandOf(usage, description)
    .option('--cluster <name>', 'this cluster, or REGION/NAME (default: all of the deployment)')
    .option('--kubeconfig <file>', 'reach its API server by this file (default: through EKS, with your credentials)')
    .option('--context <name>', 'context of the kubeconfig (default: its current one)');
}

function statusCommand(cli: Cli): Command {
  return aboutClusters('status', 'how each pool is, and what is under way, as the last tick left it').action(
    (options: OverOptions) =>
      cli.run(options, async (run) => {
        const views = await overClusters(run, options, statusOf);
        run.print({ clusters: views }, () => clustersText(views, poolsText));
        return exitOf(views);
      }),
  );
}

const statusOf: Look<PoolView> = async (reached, { ledgers, now }) => {
  const [listed, nodes] = await Promise.all([reached.objects.list(), lookAtNodes(reached)]);
  if (listed === undefined) return undefined;
  const views = listed.map(({ name, status }) => poolView(name, status, ledgers.get(name), now));
  return { pools: withGone(views, ledgers, now), ...cordonsIn(nodes, listed, ledgers) };
};

interface CheckOptions extends OverOptions {
  readonly offline?: true;
}

const CLUSTER_OPTIONS = ['cluster', 'kubeconfig', 'context'] as const;

function checkCommand(cli: Cli): Command {
  return aboutClusters('check', 'what the next tick would do with each pool, as things are now; changes nothing')
    .option(
      '-f, --file <file>',
      'as if the GameServerNodes of this file were applied (YAML or JSON; -: standard input)',
    )
    .addOption(new Option('--offline', 'look at the file alone, at no cluster').conflicts([...CLUSTER_OPTIONS]))
    .action(async (options: CheckOptions) => {
      const { file } = options;
      if (file !== undefined) {
        // Loaded for it alone, with the parser of YAML.
        const { checkFileInCluster, checkFileOffline } = await import('./scaler-check-file.ts');
        const ofFile = { ...options, file };
        if (options.offline || !namesCluster(cli, options)) return checkFileOffline(cli, ofFile);
        return cli.run(options, (run) => checkFileInCluster(run, ofFile));
      }
      if (options.offline) throw new BadInputError('--offline looks at a file: name it with --file');
      return cli.run(options, async (run) => {
        const views = await overClusters(run, options, async (reached, seen) => {
          const [objects, nodes] = await Promise.all([reached.objects.list(), lookAtNodes(reached)]);
          if (objects === undefined) return undefined;
          return { pools: await dryTick(objects, reached, seen), ...cordonsIn(nodes, objects, seen.ledgers) };
        });
        run.print({ clusters: views }, () => clustersText(views, checksText));
        return exitOf(views);
      });
    });
}

/** Whether anything says which cluster is meant; what says it wrongly is told by whoever looks for the cluster. */
function namesCluster({ io }: Cli, options: OverOptions): boolean {
  if (CLUSTER_OPTIONS.some((name) => options[name] !== undefined)) return true;
  const value = io.env[CLUSTERS_ENV];
  if (value === undefined || value === '') return false;
  const read = readClusters(value);
  return 'problems' in read || read.clusters.length > 0;
}

interface TimetableOptions extends OverOptions {
  readonly days: number;
}

function timetableCommand(cli: Cli): Command {
  const file = new Option(
    '-f, --file <file>',
    'of the GameServerNodes of this file, without a cluster (-: standard input)',
  );
  return aboutClusters('timetable', 'when the target of each pool changes, and why')
    .argument('[name...]', 'these GameServerNodes (default: all)')
    .addOption(file.conflicts([...CLUSTER_OPTIONS]))
    .option('--days <days>', 'how far ahead', days, 7)
    .action(async (names: string[], options: TimetableOptions) => {
      const { timetablesInClusters, timetablesOfFile } = await import('./scaler-timetable-command.ts');
      const wanted = { names, days: options.days };
      if (options.file !== undefined) return timetablesOfFile(cli, { ...options, file: options.file }, wanted);
      return cli.run(options, (run) => timetablesInClusters(run, options, wanted));
    });
}

/** A leap year: what is further away is of no use to anybody. */
const MOST_DAYS = 366;

function days(value: string): number {
  if (/^[1-9]\d{0,2}$/.test(value) && Number(value) <= MOST_DAYS) return Number(value);
  throw new InvalidArgumentError(`A whole number from 1 to ${MOST_DAYS} is expected.`);
}
