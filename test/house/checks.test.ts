import { describe, expect, it } from 'vitest';
import { type Files, fixture } from './fixture.ts';

/** A repository that every check agrees with: a pure part, a store, a client, a function, and a test that may do more. */
const CLEAN: Files = {
  'lib/settings.ts': 'export const LIMIT = 10;\n',
  'lib/plans/plan.ts': "import * as z from 'zod/mini';\n\nexport const plan = z.object({ planId: z.string() });\n",
  'lib/plans/decide.ts': [
    "import type * as z from 'zod/mini';",
    "import { LIMIT } from '../settings.ts';",
    "import type { plan } from './plan.ts';",
    '',
    'export function fits(plans: readonly z.infer<typeof plan>[]): boolean {',
    '  return plans.length <= LIMIT;',
    '}',
    '',
  ].join('\n'),
  'lib/plans/decide.test.ts': [
    "import { expect, it } from 'vitest';",
    "import { submit } from '../client/index.ts';",
    "import { fits } from './decide.ts';",
    '',
    "it('fits', () => {",
    '  expect(fits([])).toBe(submit([]));',
    '});',
    '',
  ].join('\n'),
  'lib/hash.ts': [
    "import { createHash } from 'node:crypto';",
    '',
    'export function hashOf(node: string): number {',
    "  return createHash('sha256').update(node).digest().readUInt32BE(0);",
    '}',
    '',
  ].join('\n'),
  'lib/client/index.ts': [
    "import { fits } from '../plans/decide.ts';",
    "import { plan } from '../plans/plan.ts';",
    '',
    'export function submit(plans: readonly unknown[]): boolean {',
    '  return fits(plans.map((one) => plan.parse(one)));',
    '}',
    '',
  ].join('\n'),
  'functions/applier/handler.ts': [
    "import { hashOf } from '../../lib/hash.ts';",
    "import { LIMIT } from '../../lib/settings.ts';",
    '',
    'export function handler(node: string): number {',
    '  return hashOf(node) + LIMIT;',
    '}',
    '',
  ].join('\n'),
};

const clean = (more: Files = {}, dependencies: readonly string[] = []) =>
  fixture({ ...CLEAN, ...more }, ['zod', ...dependencies]);

/** What a line of the output must name, and the file with the fault that it stands for. */
interface Fault {
  readonly file: string;
  readonly code: string;
  readonly reported: string;
}

const filesOf = (faults: readonly Fault[]): Files => Object.fromEntries(faults.map(({ file, code }) => [file, code]));

describe('the checks', () => {
  it.each(['typecheck', 'lint', 'format:check', 'dead-code', 'arrows'])(
    '%s agrees with a clean repository',
    async (name) => {
      const { status, output } = await clean().script(name);
      expect(status, output).toBe(0);
    },
  );

  it('typecheck reports each fault that strictness is there for', async () => {
    const faults: readonly Fault[] = [
      { file: 'lib/wrong.ts', code: "export const n: number = 'one';\n", reported: 'TS2322' },
      { file: 'lib/implicit.ts', code: 'export const f = (x) => x;\n', reported: 'TS7006' },
      { file: 'lib/unchecked.ts', code: 'export const f = (x: number[]): number => x[0];\n', reported: 'TS2322' },
      { file: 'lib/optional.ts', code: 'export const o: { a?: number } = { a: undefined };\n', reported: 'TS2375' },
      { file: 'lib/enumeration.ts', code: 'export enum E {\n  A,\n}\n', reported: 'TS1294' },
      { file: 'lib/unused.ts', code: 'export const f = (x: number) => 1;\n', reported: 'TS6133' },
      { file: 'lib/missing.ts', code: "export { y } from './nowhere.ts';\n", reported: 'TS2307' },
    ];
    const { status, output } = await clean(filesOf(faults)).script('typecheck');
    expect(status).not.toBe(0);
    for (const { file, reported } of faults) expect(output).toMatch(line(file, reported));
  });

  it('format:check reports a file that the formatter would change', async () => {
    const faults: readonly Fault[] = [
      { file: 'lib/spaces.ts', code: 'export const a   =  "b"\n', reported: 'format' },
      { file: 'lib/data.json', code: '{"a":\n1}\n', reported: 'format' },
    ];
    const { status, output } = await clean(filesOf(faults)).script('format:check');
    expect(status).not.toBe(0);
    for (const { file, reported } of faults) expect(output).toMatch(line(file, reported));
  });

  it('dead-code reports what nothing uses and what is used without being declared', async () => {
    const dead: Files = {
      'lib/plans/forgotten.ts': 'export const forgotten = 1;\n',
      'lib/settings.ts': 'export const LIMIT = 10;\nexport const DEAD = 11;\nexport interface Lifeless {\n  a: 1;\n}\n',
      'functions/reaper/handler.ts': "import { ulid } from 'ulid';\n\nexport const handler = () => ulid();\n",
    };
    const { status, output } = await clean(dead, ['commander']).script('dead-code');
    expect(status).not.toBe(0);
    expect(output).toMatch(/Unused files \(1\)\s+lib\/plans\/forgotten\.ts/);
    expect(output).toMatch(/Unused exports \(1\)\s+DEAD .*lib\/settings\.ts/);
    expect(output).toMatch(/Unused exported types \(1\)\s+Lifeless .*lib\/settings\.ts/);
    expect(output).toMatch(/Unused dependencies \(1\)\s+commander /);
    expect(output).toMatch(/Unlisted dependencies \(1\)\s+ulid .*functions\/reaper\/handler\.ts/);
  });
});

/** A line that names both the file and what is reported of it. */
function line(file: string, reported: string): RegExp {
  return new RegExp(`^${file.replaceAll('.', '\\.')}[(: ].*${reported}`, 'm');
}
