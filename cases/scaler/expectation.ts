import type { PoolStatus } from '../../lib/scaler/tell/status.ts';
import type { ScalerExpectation } from './case.ts';
import type { ScalerLog } from './log.ts';

/** What one tick has come to. */
export interface TickView {
  readonly log: ScalerLog;
  readonly errors: readonly string[];
  /** Undefined: the function died, and wrote none. */
  readonly status?: PoolStatus;
}

const LISTS = ['uncordoned', 'cordoned', 'gameServersDeleted', 'nodesDeleted', 'instancesDeleted'] as const;

/** Where a tick is not what is expected of it. Only what is expected is looked at, and that nothing forbidden was done. */
export function tickDifferences(expected: ScalerExpectation, view: TickView): string[] {
  return [...difference(expected, [view]), ...statusDifferences(expected, view), ...view.log.violations];
}

/** Where all ticks together are not what is expected of them. */
export function totalDifferences(expected: ScalerExpectation, views: readonly TickView[]): string[] {
  return difference(expected, views).map((problem) => `all ticks: ${problem}`);
}

function difference(expected: ScalerExpectation, views: readonly TickView[]): string[] {
  const lists = LISTS.flatMap((what) =>
    compared(
      what,
      expected[what],
      views.flatMap(({ log }) => log[what]),
    ),
  );
  const errors = compared(
    'errors',
    expected.errors,
    views.flatMap((view) => view.errors),
  );
  const increaseBy = views.reduce((sum, { log }) => sum + log.increaseBy, 0);
  const increase =
    typeof expected.increaseBy === 'number' && expected.increaseBy !== increaseBy
      ? [`expected increaseBy ${expected.increaseBy}, came ${increaseBy}`]
      : [];
  return [...lists, ...errors, ...increase];
}

function compared(what: string, expected: readonly string[] | undefined, came: readonly string[]): string[] {
  if (expected === undefined) return [];
  const [wanted, got] = [[...expected].sort().join(', '), [...came].sort().join(', ')];
  return wanted === got ? [] : [`expected ${what} [${wanted}], came [${got}]`];
}

function statusDifferences({ status: expected }: ScalerExpectation, { status }: TickView): string[] {
  if (expected === undefined || status === undefined) return [];
  const problems: string[] = [];
  const compare = (what: string, wanted: unknown, came: unknown) => {
    if (wanted !== undefined && wanted !== came) problems.push(`expected ${what} ${wanted}, came ${came}`);
  };
  compare('effectiveTarget', expected.effectiveTarget, status.effectiveTarget ?? null);
  compare('targetSource', expected.targetSource, status.targetSource);
  for (const [type, reason] of Object.entries(expected.conditions ?? {})) {
    compare(`condition ${type}`, reason, status.conditions.find((condition) => condition.type === type)?.reason);
  }
  return problems;
}
