import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Files, fixture, type Outcome, shell, write } from './fixture.ts';
import { ROOT } from './repository.ts';
import { type TestReport, tallyOf } from './tally.ts';

const PASSING = "import { expect, it } from 'vitest';\n\nit('holds', () => {\n  expect(1).toBe(1);\n});\n";

/** `npm test` and what it takes its settings from. */
const RUNS_TESTS = [
  ...['vitest.config.ts', 'test/run.ts', 'test/house/tally.ts', 'test/house/longest-first.ts'],
  ...['test/support/seeded.ts', 'test/support/tries.ts'],
];

/** Runs `npm test` as it is on a repository with two checks of its own. */
async function runTests(files: Files, { check = 'true && true', args = '' } = {}): Promise<Outcome> {
  const { folder } = fixture({});
  for (const path of RUNS_TESTS) cpSync(join(ROOT, path), join(folder, path));
  write(folder, { ...files, 'package.json': JSON.stringify({ type: 'module', scripts: { check } }) });
  return shell(`node --import tsx test/run.ts ${args} 2>&1`, folder);
}

const lastLine = ({ output }: Outcome) => output.replace(/\n$/, '').split('\n').at(-1);

describe('npm test', () => {
  it('ends with the sum of checks and tests, and status 0', async () => {
    const outcome = await runTests({ 'a.test.ts': PASSING });
    expect(lastLine(outcome)).toBe('3 passed, 0 failed');
    expect(outcome.status).toBe(0);
  });

  it('goes on after a failed check, runs the tests, and ends with status 1', async () => {
    const outcome = await runTests({ 'a.test.ts': PASSING }, { check: 'false && true' });
    expect(lastLine(outcome)).toBe('2 passed, 1 failed');
    expect(outcome.output).toContain('failed: false');
    expect(outcome.status).toBe(1);
  });

  it('counts failed and skipped tests, files that cannot be loaded, hooks that fail', async () => {
    const outcome = await runTests({
      'a.test.ts': `${PASSING}\nit('fails', () => {\n  expect(1).toBe(2);\n});\nit.skip('skips', () => {});\n`,
      'b.test.ts': "import './nowhere.ts';\n",
      'c.test.ts': `import { beforeAll } from 'vitest';\n${PASSING}\nbeforeAll(() => {\n  throw new Error('hook');\n});\n`,
    });
    expect(lastLine(outcome)).toBe('3 passed, 4 failed');
    expect(outcome.status).toBe(1);
  });

  it('is red when the tests crash or an error comes from outside of them', async () => {
    const crash = await runTests({ 'a.test.ts': `${PASSING}\nprocess.kill(process.pid, 'SIGKILL');\n` });
    expect(lastLine(crash)).toMatch(/^2 passed, [1-9]\d* failed$/);
    expect(crash.status).toBe(1);
    const late = "import { afterAll } from 'vitest';\n\nafterAll(() => void Promise.reject(new Error('late')));\n";
    const outside = await runTests({ 'a.test.ts': `${late}${PASSING}` });
    expect(lastLine(outside)).toBe('3 passed, 1 failed');
    expect(outside.status).toBe(1);
  });

  it('is red when no test ran, or the runner of the tests does not start', async () => {
    const none = await runTests({}, { args: '--passWithNoTests' });
    expect(lastLine(none)).toBe('2 passed, 1 failed');
    expect(none.status).toBe(1);
    const broken = await runTests({ 'a.test.ts': PASSING }, { args: '--no-such-option=1 --config nowhere.ts' });
    expect(lastLine(broken)).toBe('2 passed, 1 failed');
    expect(broken.status).toBe(1);
  });

  it('hands its arguments to vitest; what a name leaves out is not counted', async () => {
    const other = PASSING.replace('holds', 'other');
    const outcome = await runTests({ 'a.test.ts': PASSING, 'b.test.ts': other }, { args: '-t holds' });
    expect(lastLine(outcome)).toBe('3 passed, 0 failed');
    expect(outcome.status).toBe(0);
  });
});

describe('tallyOf', () => {
  const report = (status: string, ...tests: string[]): TestReport => ({
    testResults: [{ status, assertionResults: tests.map((one) => ({ status: one })) }],
  });

  it.each([
    ['passed', { status: 0, report: report('passed', 'passed', 'passed') }, { passed: 2, failed: 0 }],
    ['failed', { status: 1, report: report('failed', 'passed', 'failed') }, { passed: 1, failed: 1 }],
    ['skipped', { status: 0, report: report('passed', 'passed', 'skipped') }, { passed: 1, failed: 1 }],
    ['todo', { status: 0, report: report('passed', 'passed', 'todo') }, { passed: 1, failed: 1 }],
    ['not loaded', { status: 1, report: report('failed') }, { passed: 0, failed: 1 }],
    ['no report', { status: 1, report: undefined }, { passed: 0, failed: 1 }],
    ['no report, status 0', { status: 0, report: undefined }, { passed: 0, failed: 1 }],
    ['ended by a signal', { status: null, report: report('passed', 'passed') }, { passed: 1, failed: 1 }],
    ['nothing ran', { status: 0, report: { testResults: [] } }, { passed: 0, failed: 1 }],
  ])('%s', (_, run, expected) => {
    expect(tallyOf({ ...run, chosenByName: false })).toEqual(expected);
  });
});
