import type { Command } from 'commander';
import type { AuditReport } from '../client/index.ts';
import { type Cli, type CommonOptions, commandOf } from './context.ts';
import { EXIT, showProgress } from './io.ts';
import { counted, table, time } from './table.ts';

/** `berth audit`. */
export function auditCommand(cli: Cli): Command {
  return commandOf('audit', 'add up the tasks of each node and compare that with its account; reads every task')
    .argument('<pool>')
    .option('--mend', 'write accounts anew that are wrong')
    .action((pool: string, { mend = false, ...options }: CommonOptions & { readonly mend?: boolean }) =>
      cli.run(options, async ({ berth, print, io }) => {
        const progress = await showProgress(io, 'tasks read');
        let report: AuditReport;
        try {
          report = await berth.audit(pool, { mend, onProgress: (tasks) => progress.at(tasks) });
        } finally {
          progress.end();
        }
        print(report, () => reportText(report, mend));
        return isFine(report) ? EXIT.done : EXIT.no;
      }),
    );
}

/** Whether nothing is left to be done. */
function isFine({ drifts, unsettled, homeless, plansUnderWay }: AuditReport): boolean {
  const whole = drifts.every(({ mended, drift }) => mended && drift.every(({ mendable }) => mendable));
  return whole && unsettled.length + homeless.length === 0 && plansUnderWay.every(({ stuck }) => !stuck);
}

function reportText(report: AuditReport, mend: boolean): string {
  const { nodes, tasks, drifts, unsettled, homeless, plansUnderWay } = report;
  const stuck = plansUnderWay.filter((plan) => plan.stuck);
  const parts = [`looked at ${counted(nodes, 'node')} and ${counted(tasks, 'unreleased task')}`];
  if (drifts.length > 0) {
    const rows = drifts.flatMap(({ nodeId, drift, mended }) =>
      drift.map(({ at, stored, expected, mendable }) => [
        ...[nodeId, at, stored, expected],
        mended && mendable ? 'mended' : mendable ? 'not mended' : 'cannot be mended',
      ]),
    );
    parts.push(table(['node', 'what', 'is', 'should be', ''], rows, ''));
    if (!mend) parts.push('to write these accounts anew: berth audit POOL --mend');
  }
  if (unsettled.length > 0) {
    parts.push(
      `${unsettled.join(', ')}: changed at every look, so that nothing can be said; audit again when less goes on`,
    );
  }
  if (homeless.length > 0) {
    const rows = homeless.map(({ nodeId, taskId }) => [nodeId, taskId]);
    parts.push(table(['no such node', 'held by task'], rows, ''));
    parts.push('to orphan these tasks: berth node remove POOL NODE --force');
  }
  if (stuck.length > 0) {
    const rows = stuck.map(({ planId, tasks: reserved, since }) => [planId, reserved, time(since)]);
    parts.push(table(['plan that is stuck', 'reserves tasks', 'since'], rows, ''));
    parts.push(
      'a stuck plan goes on when its message comes again: berth dead-letters list and redrive, or send the same plan again; ' +
        'berth dead-letters discard gives it up, and what it reserves goes back',
    );
  }
  if (isFine(report) && drifts.length === 0) parts.push('every account says what its tasks hold');
  return parts.join('\n\n');
}
