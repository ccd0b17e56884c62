import { Command } from 'commander';
import type { PlanCheck, PlanInput, PlanRecord, PlanResult } from '../client/index.ts';
import { checkPlan } from '../plans/check-plan.ts';
import { InvalidInputError } from '../schema.ts';
import { PLATFORM } from '../settings.ts';
import { type Cli, type CommonOptions, commandOf } from './context.ts';
import { type Document, readDocuments } from './input.ts';
import { BadInputError, EXIT, type Io, NotThereError, showProgress } from './io.ts';
import { whole } from './pool-commands.ts';
import { fields, table } from './table.ts';

/** `berth plan`. */
export function planCommands(cli: Cli): Command {
  return new Command('plan')
    .description('plans: what a scheduler worker proposes')
    .addCommand(submitCommand(cli))
    .addCommand(checkCommand(cli))
    .addCommand(showCommand(cli));
}

const FILE = 'plans as JSON: one, a list, or one a line; - for standard input';

interface SubmitOptions extends CommonOptions {
  readonly wait: boolean;
  readonly timeout: number;
}

function submitCommand(cli: Cli): Command {
  return commandOf('submit', 'put plans onto the queue, in their order, and wait for their results')
    .argument('<file>', FILE)
    .option('--no-wait', 'do not wait for results')
    .option('--timeout <seconds>', 'how long to wait for all of them', whole, 60)
    .action((file: string, { wait, timeout, ...options }: SubmitOptions) =>
      cli.run(options, async ({ berth, print, io }) => {
        const plans = await readPlans(file, io);
        const progress = await showProgress(io, wait ? 'results' : 'plans sent');
        const results: PlanResult[] = [];
        try {
          const late = AbortSignal.timeout(timeout * 1000);
          for (const [at, plan] of plans.entries()) {
            await berth.push(plan);
            if (!wait) progress.at(at + 1, plans.length);
          }
          if (!wait) {
            const ids = plans.map(({ planId }) => planId);
            print(ids, () => ids.join('\n'));
            return undefined;
          }
          const timeoutMs = timeout * 1000;
          const waiting = plans.map(async ({ planId }, at) => {
            results[at] = await berth.waitForResult(planId, { timeoutMs, signal: late });
            progress.at(results.filter(Boolean).length, plans.length);
          });
          const failed = (await Promise.allSettled(waiting)).find(({ status }) => status === 'rejected');
          if (failed && !late.aborted) throw (failed as PromiseRejectedResult).reason;
        } finally {
          progress.end();
        }
        const missing = plans.filter((_, at) => results[at] === undefined).map(({ planId }) => planId);
        const come = results.filter(Boolean);
        print(come, () => resultsText(come));
        if (missing.length > 0) {
          io.err(
            `no result within ${timeout} s for ${missing.join(', ')}; they may take effect yet: see berth plan show, or submit them again unchanged\n`,
          );
          return EXIT.failed;
        }
        return come.every(({ status }) => status === 'applied') ? EXIT.done : EXIT.no;
      }),
    );
}

function checkCommand(cli: Cli): Command {
  return commandOf('check', 'say what would be decided about each plan if it came now; changes nothing')
    .argument('<file>', FILE)
    .action((file: string, options: CommonOptions) =>
      cli.run(options, async ({ berth, print, io }) => {
        const plans = await readPlans(file, io);
        const progress = await showProgress(io, 'plans checked');
        const checks: PlanCheck[] = [];
        try {
          for (const plan of plans) {
            checks.push(await berth.check(plan));
            progress.at(checks.length, plans.length);
          }
        } finally {
          progress.end();
        }
        const notes = checks
          .filter(({ stored }) => stored)
          .map(
            ({ result, differs }) => `${result.planId} was decided before${differs ? ', with another content' : ''}`,
          );
        print(checks, () => [resultsText(checks.map(({ result }) => result)), ...notes].join('\n'));
        return checks.every(({ result, differs }) => result.status === 'applied' && !differs) ? EXIT.done : EXIT.no;
      }),
    );
}

function showCommand(cli: Cli): Command {
  return commandOf('show', 'the result of a plan, or how far it has come')
    .argument('<id>')
    .action((id: string, options: CommonOptions) =>
      cli.run(options, async ({ berth, print }) => {
        const record = await berth.planRecord(id);
        if (!record) {
          throw new NotThereError(
            `nothing is stored of plan ${id}: it waits, was never sent, or was decided more than 16 days ago; or its message was set aside: see berth dead-letters list and berth quarantine list`,
          );
        }
        print(record, () => recordText(id, record));
        return undefined;
      }),
    );
}

/** The plans of a file, all of them checked before the first is sent. */
async function readPlans(file: string, io: Io): Promise<PlanInput[]> {
  const documents = await readDocuments(file, io, { what: 'a plan', each: PLATFORM.messageBytes });
  const seen = new Map<string, string>();
  return documents.map(({ where, value }: Document) => {
    const checked = checkPlan(value);
    if ('problems' in checked) {
      throw new BadInputError(`${where}: ${new InvalidInputError('the plan', checked.problems).message}`);
    }
    const { planId } = checked.plan;
    const earlier = seen.get(planId);
    if (earlier !== undefined) {
      throw new BadInputError(
        `${where}: planId ${planId} stands at ${earlier} already; give every plan an id of its own`,
      );
    }
    seen.set(planId, where);
    return value as PlanInput;
  });
}

function resultsText(results: readonly PlanResult[]): string {
  const refusals = results.flatMap(({ planId, rejectedNodes }) =>
    rejectedNodes.map(({ nodeId, code, message }) => [planId, nodeId, code, message]),
  );
  const problems = results.flatMap((result) =>
    result.problems.map(({ path, message }) => [result.planId, path, message]),
  );
  const ineligible = results.flatMap(({ planId, ineligibleNodes }) => ineligibleNodes.map((node) => [planId, node]));
  const parts = [
    table(
      ['plan', 'status', 'index', 'placed', 'stopped', 'preempted', 'refused by'],
      results.map(({ planId, status, index, committed, rejectedNodes }) => [
        ...[planId, status, index, committed.placements, committed.stops, committed.preemptions, rejectedNodes.length],
      ]),
      'no results',
    ),
    ...(refusals.length > 0 ? [table(['plan', 'refused by', 'code', 'why'], refusals, '')] : []),
    ...(ineligible.length > 0 ? [table(['plan', 'made ineligible'], ineligible, '')] : []),
    ...(problems.length > 0 ? [table(['plan', 'at', 'problem'], problems, '')] : []),
  ];
  return parts.join('\n\n');
}

function recordText(id: string, record: PlanRecord): string {
  if (record.kind === 'under-way') {
    const { phase, tally, version } = record.progress;
    return fields([
      ['plan', id],
      ['status', `under way: ${phase}`],
      ['transactions so far', version],
      ['placed so far', tally.placements],
      ['refused by so far', tally.rejected.length],
    ]);
  }
  const { result } = record;
  return [
    resultsText([result]),
    fields([
      ['pool', result.pool],
      ['evaluation', result.evalId],
      ['look again at index', result.refreshIndex || undefined],
      ['already gone', result.alreadyGone.join(', ') || undefined],
      ['received', result.receivedAt],
      ['decided', result.appliedAt],
    ]),
  ].join('\n\n');
}
