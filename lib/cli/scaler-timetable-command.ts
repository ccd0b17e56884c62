import { withApplied } from '../scaler/dry-run.ts';
import { systemClock } from '../time.ts';
import type { Cli, Run } from './context.ts';
import { BadInputError, EXIT, type ExitStatus } from './io.ts';
import { readObjectFile } from './scaler-file.ts';
import { clustersText, exitOf, type OverOptions, overClusters } from './scaler-over-clusters.ts';
import { type PoolTimetable, timetableJson, timetablesOf } from './scaler-timetable.ts';
import { timetablesText } from './scaler-timetable-view.ts';

export interface Wanted {
  /** Of GameServerNodes; none: all there are. */
  readonly names: readonly string[];
  readonly days: number;
}

/** The timetables of the objects of a file. Asks nobody. */
export function timetablesOfFile(
  cli: Cli,
  options: OverOptions & { readonly file: string },
  wanted: Wanted,
): Promise<void> {
  return cli.runOffline(options, async ({ print, io }) => {
    const file = await readObjectFile(options.file, io);
    const now = systemClock();
    const pools = await timetablesOf(withApplied([], file.objects, now), asked(wanted, now));
    const missing = missingIn(wanted, pools);
    if (missing !== undefined) throw new BadInputError(`${file.file} has no GameServerNode ${missing}`);
    print({ file: file.file, pools: pools.map(timetableJson) }, () => timetablesText(pools));
    return pools.every(({ well }) => well) ? EXIT.done : EXIT.no;
  });
}

/** The timetables of the objects that are in clusters. */
export async function timetablesInClusters(run: Run, options: OverOptions, wanted: Wanted): Promise<ExitStatus> {
  const views = await overClusters<PoolTimetable>(run, options, async ({ objects }, { now }) => {
    const listed = await objects.list();
    return listed && { pools: await timetablesOf(listed, asked(wanted, now)) };
  });
  const shown = views.map(({ pools, ...view }) => ({ ...view, ...(pools && { pools: pools.map(timetableJson) }) }));
  run.print({ clusters: shown }, () => clustersText(views, timetablesText));
  const missing = missingIn(
    wanted,
    views.flatMap(({ pools = [] }) => pools),
  );
  if (missing === undefined) return exitOf(views);
  run.io.err(`there is no GameServerNode ${missing} in ${views.map(({ cluster }) => cluster).join(', ')}\n`);
  return EXIT.failed;
}

function asked({ names, days }: Wanted, now: ReturnType<typeof systemClock>) {
  return { now, days, shown: (name: string) => names.length === 0 || names.includes(name) };
}

function missingIn({ names }: Wanted, pools: readonly PoolTimetable[]): string | undefined {
  return names.find((name) => !pools.some(({ object }) => object === name));
}
