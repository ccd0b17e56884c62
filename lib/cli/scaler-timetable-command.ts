import { listed } from '../listed.ts';
import { withApplied } from '../scaler/dry-run.ts';
import { systemClock } from '../time.ts';
import type { Cli, Run } from './context.ts';
import { BadInputError, EXIT, type ExitStatus, NotThereError } from './io.ts';
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
    if (missing !== undefined) {
      const there = file.objects.map(({ name }) => name);
      throw new BadInputError(`${file.file} has no GameServerNode ${missing}${thereText(there)}`);
    }
    print({ file: file.file, pools: pools.map(timetableJson) }, () => timetablesText(pools));
    return pools.every(({ well }) => well) ? EXIT.done : EXIT.no;
  });
}

/** The timetables of the objects that are in clusters. */
export async function timetablesInClusters(run: Run, options: OverOptions, wanted: Wanted): Promise<ExitStatus> {
  const there: string[] = [];
  const views = await overClusters<PoolTimetable>(run, options, async ({ objects }, { now }) => {
    const listed = await objects.list();
    for (const { name } of listed ?? []) there.push(name);
    return listed && { pools: await timetablesOf(listed, asked(wanted, now)) };
  });
  const shown = views.map(({ pools, ...view }) => ({ ...view, ...(pools && { pools: pools.map(timetableJson) }) }));
  run.print({ clusters: shown }, () => clustersText(views, (pools) => timetablesText(pools, noneText(wanted))));
  const missing = missingIn(
    wanted,
    views.flatMap(({ pools = [] }) => pools),
  );
  if (missing === undefined) return exitOf(views);
  const clusters = views.map(({ cluster }) => cluster).join(', ');
  throw new NotThereError(`there is no GameServerNode ${missing} in ${clusters}${thereText(there)}`);
}

function asked({ names, days }: Wanted, now: ReturnType<typeof systemClock>) {
  return { now, days, shown: (name: string) => names.length === 0 || names.includes(name) };
}

function missingIn({ names }: Wanted, pools: readonly PoolTimetable[]): string | undefined {
  return names.filter((name) => !pools.some(({ object }) => object === name)).join(', ') || undefined;
}

function noneText({ names }: Wanted): string {
  return names.length === 0 ? 'no GameServerNode' : 'none of that name';
}

/** Names that a message has room for. */
const NAMED = 10;

function thereText(names: readonly string[]): string {
  if (names.length === 0) return '; there is none at all';
  const sorted = [...new Set(names)].sort();
  return `; there ${sorted.length === 1 ? 'is' : 'are'} ${listed(sorted, NAMED)}`;
}
