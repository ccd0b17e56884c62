/**
 * `npm test [-- ARGUMENTS OF VITEST]`: every check of `npm run check` and every test, all of them whatever fails. The
 * last line is `N passed, N failed`, over checks and tests; the exit status is 0 only if nothing failed.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { summaryOf, sumOf, type Tally, type TestReport, tallyOf } from './house/tally.ts';

const vitest = join(createRequire(import.meta.url).resolve('vitest/package.json'), '..', 'vitest.mjs');

let stopped = false;

/** Runs a command with our terminal, hands on signals, and answers its exit status: null if a signal ended it. */
function run(command: string, args: readonly string[], shell: boolean): Promise<number | null> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit', shell });
    const stop = (signal: NodeJS.Signals) => {
      stopped = true;
      child.kill(signal);
    };
    process.on('SIGINT', stop).on('SIGTERM', stop);
    const done = (status: number | null) => {
      process.off('SIGINT', stop).off('SIGTERM', stop);
      resolve(status);
    };
    child.on('error', (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      done(1);
    });
    child.on('close', done);
  });
}

/** The script `check` of package.json is the list of the checks; here each is run, not only up to the first that fails. */
function checks(): string[] {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  return (scripts.check ?? '').split('&&').map((command) => command.trim());
}

async function runChecks(): Promise<Tally> {
  let passed = 0;
  let failed = 0;
  for (const command of checks()) {
    if (stopped) break;
    console.log(`\n> ${command}`);
    if ((await run(command, [], true)) === 0) passed += 1;
    else {
      failed += 1;
      console.error(`failed: ${command}`);
    }
  }
  return { passed, failed };
}

async function runTests(args: readonly string[]): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'));
  const file = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const status = await run(process.execPath, [vitest, 'run', ...reporters, ...args], false);
    const chosenByName = args.some((arg) => /^(-t|--testNamePattern)\b/.test(arg));
    return tallyOf({ status, report: reportIn(file), chosenByName });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function reportIn(file: string): TestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as TestReport;
  } catch {
    return undefined;
  }
}

const tally = sumOf([await runChecks(), stopped ? { passed: 0, failed: 1 } : await runTests(process.argv.slice(2))]);
// Set, not process.exit(): the line must have left a pipe before the process ends.
process.exitCode = tally.failed === 0 && !stopped ? 0 : 1;
console.log(`\n${summaryOf(tally)}`);
