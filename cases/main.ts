import { SingleBar } from 'cli-progress';
import { Command, CommanderError } from 'commander';
import { systemClock } from '../lib/time.ts';
import { type AnyCase, CaseFileError, readCaseFile } from './case-file.ts';
import { EngineWay } from './engine-way.ts';
import { isCovered, judged, type Verdict } from './judge.ts';
import type { Way } from './outcome.ts';
import { PURE_WAY } from './pure-way.ts';

// The warning is for whoever develops Berth, not for whoever runs it.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/** Exit status where nothing could be run: wrong arguments, a file that cannot be read. */
const UNUSABLE = 2;

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : UNUSABLE;
  } else if (error instanceof CaseFileError) {
    console.error(`error: ${error.message}`);
    process.exitCode = UNUSABLE;
  } else {
    throw error;
  }
}

async function main(args: readonly string[]): Promise<number> {
  const command = new Command('npm run cases --')
    .description('Runs cases against the product, through the pure code and through the local engine.')
    .argument('<FILE...>', 'files of cases, each a JSON array')
    .addHelpText('after', '\nExit status: 0 all passed, 1 some failed, 2 nothing was run.')
    .showHelpAfterError()
    .exitOverride();
  const files = command.parse(args, { from: 'user' }).args;
  const cases = files.flatMap((file) => readCaseFile(file));
  const verdicts = await runAll(cases);
  const failed = verdicts.filter(({ problems }) => problems.length > 0);
  for (const verdict of failed) console.log(lineOf(verdict));
  console.log(`${verdicts.length - failed.length} passed, ${failed.length} failed`);
  return failed.length === 0 ? 0 : 1;
}

async function runAll(cases: readonly AnyCase[]): Promise<Verdict[]> {
  const bar = startBar(cases.length * 2);
  const engine = await engineFor(cases, (step) => bar?.update({ now: step }));
  const verdicts: Verdict[] = [];
  try {
    for (const [at, one] of cases.entries()) {
      bar?.update({ now: one.id });
      for await (const verdict of judged(one, at, [PURE_WAY, engine], systemClock())) {
        verdicts.push(verdict);
        bar?.increment();
      }
    }
  } finally {
    bar?.stop();
    await engine.stop?.();
  }
  return verdicts;
}

/** The engine, if any case needs it. One that does not start fails the cases, and says why. */
async function engineFor(
  cases: readonly AnyCase[],
  onProgress: (step: string) => void,
): Promise<Way & { stop?: () => Promise<void> }> {
  if (!cases.some(isCovered)) return failing(new Error('it was not started'));
  try {
    return await EngineWay.start(onProgress);
  } catch (error) {
    return failing(error);
  }
}

function failing(error: unknown): Way {
  const reason = error instanceof Error ? error.message : String(error);
  const fail = () => Promise.reject(new Error(`the local engine did not start: ${reason}`));
  return { name: 'engine', run: fail, window: fail, reaper: fail, scaler: fail };
}

function startBar(total: number): SingleBar | undefined {
  if (!process.stderr.isTTY) return undefined;
  const bar = new SingleBar({ format: '{bar} {value}/{total} {now}', clearOnComplete: true, stream: process.stderr });
  bar.start(total, 0, { now: '' });
  return bar;
}

function lineOf({ id, way, problems }: Verdict): string {
  return `FAILED ${id} (${way}): ${problems.join('; ')}`.replaceAll(/\s*\n\s*/g, ' ');
}
