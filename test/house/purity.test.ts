import { createRequire } from 'node:module';
import type { IConfiguration } from 'dependency-cruiser';
import { describe, expect, it } from 'vitest';
import { impuritiesOf } from './impurities.ts';
import { read, repositoryFiles } from './repository.ts';

const rules = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as IConfiguration;

/** The same files that may import no adapter. */
const PURE = new RegExp(String(rules.forbidden?.find(({ name }) => name === 'pure-imports-no-adapter')?.from.path));

/** The one file that tells the time: it is where the clock that everybody is given comes from. */
const CLOCK = 'lib/time.ts';

describe('the deciding parts', () => {
  const files = repositoryFiles().filter((path) => PURE.test(path) && !path.endsWith('.test.ts') && path !== CLOCK);

  it('are there to be looked at', () => {
    expect(files).toEqual(expect.arrayContaining(['lib/ids.ts', 'lib/settings.ts', 'lib/hash.ts']));
    expect(files.some((path) => path.startsWith('lib/plans/'))).toBe(true);
    expect(files.some((path) => path.startsWith('lib/tasks/'))).toBe(true);
  });

  it.each(files)('%s depends on its arguments alone', (path) => {
    expect(impuritiesOf(read(path), path).map(({ line, what }) => `${path}:${line}: ${what}`)).toEqual([]);
  });
});

describe('impuritiesOf', () => {
  it.each([
    ['const a = Date.now();', 'Date.now'],
    ['const a = new Date();', 'new Date()'],
    ['const a = new Date;', 'new Date()'],
    ['const a = Date();', 'Date'],
    ['const { now } = Date;', 'Date'],
    ['const a = Math.random();', 'Math.random'],
    ['const { random } = Math;', 'Math'],
    ['const a = { Math };', 'Math'],
    ['const a = process.env.HOME;', 'process'],
    ['const a = globalThis.Date;', 'globalThis'],
    ['const a = performance.now();', 'performance'],
    ['const a = crypto.randomUUID();', 'crypto'],
    ["import { randomUUID } from 'node:crypto';", 'randomUUID'],
    ["import { createHash, randomBytes as b } from 'crypto';", 'randomBytes'],
    ["import * as c from 'node:crypto';", 'crypto'],
    ["import { systemClock } from '../time.ts';", 'systemClock'],
    ["import './effects.ts';", 'import for its effects'],
    ["const a = import('./late.ts');", 'import()'],
    ["const a = () => fetch('x');", 'fetch'],
    ['const a = () => setTimeout(b, 1);', 'setTimeout'],
    ['const a = () => console.log(1);', 'console'],
    ['const a = [1].map(console.log);', 'console'],
    ['const a = b.sort((x, y) => x.localeCompare(y));', 'localeCompare'],
    ['const a = new Date(0).getHours();', 'getHours'],
    ['let calls = 0;', 'module state'],
    ['export var calls = 0;', 'module state'],
  ])('finds %s', (source, what) => {
    expect(impuritiesOf(`\n${source}\n`, 'x.ts')).toEqual([{ line: 2, what }]);
  });

  it.each([
    'const a = new Date(at).toISOString();',
    "const a = Date.parse('2027-01-01T00:00:00Z') + Date.UTC(2027, 0);",
    'const a = Math.max(1, Math.floor(2.5));',
    'const a = (clock: () => number) => clock();',
    'const a = b.process.now();',
    'const a = { process: 1, random: 2 };',
    'interface Runner { process(): void; performance: number; at: Date }',
    'function f() { let sum = 0; sum += 1; return sum; }',
    "import type { systemClock } from '../time.ts';",
    "import { createHash } from 'node:crypto';",
    "import { type EpochMs, isoTime } from '../time.ts';",
    "const a = 'Date.now() Math.random()'; // process.env",
    'const a = (value: unknown): value is Date => value instanceof Date;',
  ])('leaves %s alone', (source) => {
    expect(impuritiesOf(source, 'x.ts')).toEqual([]);
  });
});
