import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));

interface Ended {
  readonly status: number;
  readonly lines: readonly string[];
  readonly errors: string;
}

function cases(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env } };
    const child = execFile(process.execPath, ['--import', 'tsx', MAIN, ...args], options, (_error, stdout, stderr) =>
      resolve({ status: child.exitCode ?? -1, lines: stdout.trimEnd().split('\n'), errors: stderr }),
    );
  });
}

describe('npm run cases', () => {
  let folder: string;
  const file = (name: string) => join(folder, name);
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-cases-'));
    const counted = {
      id: 'W',
      kind: 'window',
      tracker: {},
      timeline: [{ type: 'reject', t: 0, nodeId: 'n', score: 1 }],
    };
    const wrong = { ...counted, id: 'V', timeline: [{ type: 'reject', t: 0, nodeId: 'n', score: 2 }] };
    writeFileSync(file('window.json'), JSON.stringify([counted, wrong]));
    writeFileSync(file('reaper.json'), '[{"id": "R1"}, {"id": "R2"}]');
    writeFileSync(file('broken.json'), '[{"id": ');
    const expect = { perPlan: [{ status: 'applied' }] };
    writeFileSync(
      file('plan.json'),
      JSON.stringify([{ id: 'P', kind: 'plan', plans: [{ planId: 'p', pool: 'test' }], expect }]),
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('names every case that failed and the way it was run, and ends with how many', async () => {
    expect(await cases([file('window.json'), file('reaper.json')])).toMatchObject({
      status: 1,
      lines: [
        'FAILED V (pure): timeline[0] (reject n at 0 s): expected score 2, came 1',
        'FAILED V (engine): timeline[0] (reject n at 0 s): expected score 2, came 1',
        expect.stringMatching(/^FAILED R1 \(pure\): not covered yet: /),
        expect.stringMatching(/^FAILED R1 \(engine\): not covered yet: /),
        expect.stringMatching(/^FAILED R2 \(pure\): not covered yet: /),
        expect.stringMatching(/^FAILED R2 \(engine\): not covered yet: /),
        '2 passed, 6 failed',
      ],
    });
  });

  it('runs a case both ways', async () => {
    expect(await cases([file('plan.json')])).toMatchObject({ status: 0, lines: ['2 passed, 0 failed'] });
  });

  it('counts a case as failed if the engine does not start, and says why', async () => {
    // The discard port, where nothing listens.
    const { status, lines } = await cases([file('plan.json')], { AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' });
    expect(lines.at(-2)).toMatch(
      /^FAILED P \(engine\): it could not be run: the local engine did not start: .*127\.0\.0\.1:9/,
    );
    expect({ status, last: lines.at(-1) }).toEqual({ status: 1, last: '1 passed, 1 failed' });
  });

  it.each([
    ['no file', [], /missing required argument/],
    ['an option that there is not', ['--fast', 'x.json'], /unknown option '--fast'/],
    ['a file that is not there', ['window.json', 'none.json'], /^error: .*none\.json: there is no such file$/m],
    ['a file that is not JSON', ['broken.json'], /^error: .*broken\.json: not JSON: /m],
  ])('runs nothing, and says so, with %s', async (_what, args, message) => {
    const { status, lines, errors } = await cases(args.map((arg) => (arg.startsWith('-') ? arg : file(arg))));
    expect(errors).toMatch(message);
    expect({ status, lines }).toEqual({ status: 2, lines: [''] });
  });

  it('explains itself', async () => {
    expect(await cases(['--help'])).toMatchObject({
      status: 0,
      lines: expect.arrayContaining([expect.stringMatching(/^Usage: npm run cases -- .*<FILE\.\.\.>/)]),
    });
  });
});
