import { withApplied } from '../scaler/dry-run.ts';
import type { TickObject } from '../scaler/tick.ts';
import { type EpochMs, systemClock } from '../time.ts';
import type { Cli, Run } from './context.ts';
import { EXIT, type ExitStatus } from './io.ts';
import { checksText, dryTick, type PoolCheck } from './scaler-check.ts';
import { cordonsIn, lookAtNodes } from './scaler-cordons.ts';
import { type ObjectFile, readObjectFile } from './scaler-file.ts';
import { type ClusterView, clustersText, exitOf, type OverOptions, overClusters } from './scaler-over-clusters.ts';
import { type PoolTimetable, timetableJson, timetablesOf } from './scaler-timetable.ts';
import { problemText, timetablesText } from './scaler-timetable-view.ts';
import { lineOf } from './scaler-view.ts';
import { counted, table } from './table.ts';

/** Days of the timetables that `check` shows. */
const DAYS = 7;

/** What only a cluster can answer: "Accepted" is of the spec alone. */
const NOT_CHECKED = 'not checked: the group, the nodes, and what provider auto comes to; name --cluster to see';

export interface CheckFileOptions extends OverOptions {
  readonly file: string;
}

/** Says of each GameServerNode of a file whether it is valid, and how its target goes on. Asks nobody. */
export function checkFileOffline(cli: Cli, options: CheckFileOptions): Promise<void> {
  return cli.runOffline(options, async ({ print, io }) => {
    const file = await readObjectFile(options.file, io);
    const pools = await poolsOf(file, []);
    print({ file: fileJson(file, pools) }, () => `${fileText(file, pools)}\n\n${NOT_CHECKED}`);
    return pools.every(({ well }) => well) ? EXIT.done : EXIT.no;
  });
}

/** The same, and what the next tick would do if the file were applied to the cluster. Changes nothing. */
export async function checkFileInCluster(run: Run, options: CheckFileOptions): Promise<ExitStatus> {
  const file = await readObjectFile(options.file, run.io);
  let there: readonly TickObject[] = [];
  const views = await overClusters<PoolCheck>(run, options, async (reached, seen) => {
    const [objects, nodes] = await Promise.all([reached.objects.list(), lookAtNodes(reached)]);
    if (objects === undefined) return undefined;
    there = objects;
    const applied = withApplied(objects, file.objects, seen.now);
    return { pools: await dryTick(applied, reached, seen), ...cordonsIn(nodes, applied, seen.ledgers) };
  });
  const pools = withFound(await poolsOf(file, there), views);
  print(run, file, pools, views);
  const status = exitOf(views);
  if (status !== EXIT.done) return status;
  const known = views.every(({ pools: looked }) => looked !== undefined);
  return known && pools.every(({ well }) => well) ? EXIT.done : EXIT.no;
}

/** With what only the cluster and its providers could say: that a nodegroup does not exist, say. */
function withFound(
  pools: readonly PoolTimetable[],
  views: readonly ClusterView<PoolCheck>[],
): readonly PoolTimetable[] {
  const checks = new Map(views.flatMap(({ pools: looked = [] }) => looked).map((check) => [check.object, check]));
  return pools.map((pool) => {
    const { state, problems = [] } = checks.get(pool.object) ?? pool;
    return pool.well && problems.length > 0 ? { object: pool.object, state, problems, well: false } : pool;
  });
}

function print(
  run: Run,
  file: ObjectFile,
  pools: readonly PoolTimetable[],
  views: readonly ClusterView<PoolCheck>[],
): void {
  run.print({ file: fileJson(file, pools), clusters: views }, () =>
    [fileText(file, pools), clustersText(views, checksText)].join('\n\n'),
  );
}

/** Of the objects of the file, as they are once it is applied where `there` are. */
function poolsOf({ objects }: ObjectFile, there: readonly TickObject[]): Promise<PoolTimetable[]> {
  const now: EpochMs = systemClock();
  const names = new Set(objects.map(({ name }) => name));
  return timetablesOf(withApplied(there, objects, now), { now, days: DAYS, shown: (name) => names.has(name) });
}

function fileJson({ file, objects, passedOver }: ObjectFile, pools: readonly PoolTimetable[]): object {
  const places = new Map(objects.map(({ name, where }) => [name, where]));
  const told = pools.map((pool) => ({ where: places.get(pool.object), ...timetableJson(pool) }));
  return { file, pools: told, passedOver };
}

function fileText({ file, objects, passedOver }: ObjectFile, pools: readonly PoolTimetable[]): string {
  const places = new Map(objects.map(({ name, where }) => [name, where]));
  const rows = pools.map(({ object, state }) => [object, places.get(object) ?? '-', state]);
  const problems = pools.flatMap(({ object, problems: told }) =>
    told.map((problem) => lineOf(`${object}: ${problemText(problem)}`)),
  );
  const others = passedOver.map(({ where, kind, name }) => lineOf(`passed over: ${kind} ${name} (${where})`));
  const valid = pools.filter(({ well }) => well);
  return [
    `${file}, ${counted(pools.length, 'GameServerNode')}`,
    [table(['object', 'where', 'state'], rows, ''), ...problems, ...others].join('\n'),
    ...(valid.length === 0 ? [] : [`\n${timetablesText(valid)}`]),
  ].join('\n');
}
