/** How many of the checks and tests held and how many did not. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
}

/** What is used of the report that vitest's `json` reporter writes. */
export interface TestReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

export interface TestRun {
  /** Exit status of vitest, or null if a signal ended it. */
  readonly status: number | null;
  /** Undefined when vitest ended without having written one. */
  readonly report: TestReport | undefined;
  /** True if tests were chosen by name (`-t`): only then may a test be skipped. */
  readonly chosenByName: boolean;
}

/**
 * Counts a run of vitest. A file that cannot be loaded, a hook that fails, a skipped test, a crash, an error outside
 * any test and a run without a test each count as failed: none of them is to look like success.
 */
export function tallyOf({ status, report, chosenByName }: TestRun): Tally {
  let passed = 0;
  let failed = 0;
  for (const file of report?.testResults ?? []) {
    let failedHere = 0;
    for (const test of file.assertionResults) {
      if (test.status === 'passed') passed += 1;
      else if (test.status === 'failed' || !chosenByName) failedHere += 1;
    }
    failed += file.status === 'failed' ? Math.max(1, failedHere) : failedHere;
  }
  if (failed === 0 && (status !== 0 || passed === 0)) failed = 1;
  return { passed, failed };
}

/** The sum of several. */
export function sumOf(tallies: readonly Tally[]): Tally {
  return tallies.reduce((a, b) => ({ passed: a.passed + b.passed, failed: a.failed + b.failed }), {
    passed: 0,
    failed: 0,
  });
}

/** The last line of a run. */
export function summaryOf({ passed, failed }: Tally): string {
  return `${passed} passed, ${failed} failed`;
}
