import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));

function bench(...args: readonly string[]): Promise<{ status: number | null; output: string; errors: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ['--import', 'tsx', MAIN, ...args], (_error, output, errors) =>
      resolve({ status: child.exitCode, output, errors }),
    );
  });
}

describe('npm run bench', () => {
  it('measures nothing when asked for a bench that there is not, and names those that there are', async () => {
    const { status, output, errors } = await bench('pools', 'fast');
    expect(errors).toMatch(
      /^error: no bench fast; there are deciding, bundle, uncontended, refused, large, pools, reaper, scaler$/m,
    );
    expect({ status, output }).toEqual({ status: 2, output: '' });
  });

  it('draws nothing that it does not measure', async () => {
    const { status, errors } = await bench('bundle', '--draw', 'page.html');
    expect(errors).toMatch(/^error: --draw draws what the bench reaper measures: name it too$/m);
    expect(status).toBe(2);
  });

  it('explains itself', async () => {
    const { status, output } = await bench('--help');
    expect(output).toMatch(/^Usage: npm run bench -- \[options\] \[BENCH\.\.\.\]/);
    expect(status).toBe(0);
  });
});
