import { describe, expect, it } from 'vitest';
import { fixture } from './fixture.ts';
import { readJson } from './repository.ts';

type Fault = readonly [rule: string, file: string, code: string];

const inFunction = (...lines: string[]) => `export function f() {\n${lines.map((one) => `  ${one}\n`).join('')}}\n`;
const withSave = (code: string) => `import { save } from './save.ts';\n\n${code}`;
const withVitest = (names: string, code: string) => `import { ${names} } from 'vitest';\n\n${code}`;
const TEST = "('x', () => {\n  expect(1).toBe(1);\n});\n";
const HOOK = 'beforeEach(() => {\n  expect(1).toBe(1);\n});\n';

/** A file for each rule that biome.json names, with the one fault that the rule is there for. */
const FAULTS: readonly Fault[] = [
  ['noFloatingPromises', 'lib/floating.ts', withSave(inFunction('save();'))],
  ['noMisusedPromises', 'lib/misused.ts', withSave(inFunction('return save() ? 1 : 2;'))],
  [
    'useExhaustiveSwitchCases',
    'lib/cases.ts',
    "export function f(kind: 'a' | 'b') {\n  switch (kind) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}\n",
  ],
  [
    'useErrorCause',
    'lib/lost.ts',
    inFunction(
      'try {',
      '  f();',
      '} catch (error) {',
      '  f();',
      "  throw new Error('lost', { cause: String(error) });",
      '}',
    ),
  ],
  ['useThrowOnlyError', 'lib/thrown.ts', inFunction("throw 'x';")],
  ['useErrorMessage', 'lib/mute.ts', inFunction('throw new Error();')],
  ['noEmptyBlockStatements', 'lib/swallowed.ts', inFunction('try {', '  f();', '} catch {}')],
  ['noExplicitAny', 'lib/any.ts', 'export const f = (x: any) => x;\n'],
  ['noNonNullAssertion', 'lib/bang.ts', 'export const f = (x?: number) => x!;\n'],
  ['noParameterAssign', 'lib/assigned.ts', 'export function f(x: number) {\n  x = 1;\n  return x;\n}\n'],
  ['noConsole', 'lib/loud.ts', "console.log('x');\n"],
  ['noConsole', 'functions/a/loud.ts', "console.log('x');\n"],
  ['useNodejsImportProtocol', 'lib/builtin.ts', "export { join } from 'path';\n"],
  ['useImportExtensions', 'lib/extension.ts', "export { save } from './save';\n"],
  ['useImportType', 'lib/typed.ts', "import { Saved } from './save.ts';\n\nexport const f = (x: Saved) => x;\n"],
  ['useExportType', 'lib/re-export.ts', "import type { Saved } from './save.ts';\n\nexport { Saved };\n"],
  ['noRestrictedImports', 'lib/heavy.ts', "import { z } from 'zod';\n\nexport const s = z.string();\n"],
  ['noUnusedImports', 'lib/unused-import.ts', withSave('export const a = 1;\n')],
  ['noUnusedVariables', 'lib/unused-variable.ts', inFunction('const a = 1;')],
  ['noUnusedFunctionParameters', 'lib/unused-parameter.ts', 'export const f = (x: number) => 1;\n'],
  ['useFilenamingConvention', 'lib/CamelCase.ts', 'export const a = 1;\n'],
  ['noFocusedTests', 'lib/focused.test.ts', withVitest('expect, it', `it.only${TEST}`)],
  ['noSkippedTests', 'lib/skipped.test.ts', withVitest('expect, it', `it.skip${TEST}`)],
  [
    'noDuplicateTestHooks',
    'lib/hooks.test.ts',
    withVitest('beforeEach, describe, expect, it', `describe('x', () => {\n${HOOK}${HOOK}it${TEST}});\n`),
  ],
  [
    'organizeImports',
    'lib/order.ts',
    "import { b } from './b.ts';\nimport { a } from './a.ts';\n\nexport const c = a + b;\n",
  ],
];

const SAVE = 'export type Saved = 1;\n\nexport async function save(): Promise<Saved> {\n  return 1;\n}\n';

describe('lint', () => {
  it('reports the fault that each rule is there for, and nothing else', async () => {
    const files = Object.fromEntries(FAULTS.map(([, file, code]) => [file, code]));
    const { status, output } = await fixture({
      ...files,
      'lib/save.ts': SAVE,
      // The command talks to a terminal; everything else logs.
      'lib/cli/loud.ts': "console.log('x');\n",
    }).script('lint');
    expect(status).not.toBe(0);
    const reported = [...output.matchAll(/^(\S+?)(?::\d+:\d+)? (?:lint|assist)\/\w+\/(\w+) /gm)];
    expect(reported.map(([, file, rule]) => `${rule}: ${file}`).sort()).toEqual(
      FAULTS.map(([rule, file]) => `${rule}: ${file}`).sort(),
    );
  });

  it('is shown to fail for every rule that biome.json names', () => {
    const { linter, overrides } = readJson<Configuration>('biome.json');
    const groups = [linter, ...overrides.map((one) => one.linter)].flatMap(({ rules }) => Object.values(rules));
    const named = groups.flatMap((group) => (typeof group === 'string' ? [] : Object.keys(group)));
    const shown = new Set(FAULTS.map(([rule]) => rule));
    expect(named.filter((rule) => !shown.has(rule))).toEqual([]);
  });

  it('fails on a warning too', async () => {
    const { status, output } = await fixture({
      'lib/comma.ts': 'export const f = (a: number[]) => (a.push(1), 2);\n',
    }).script('lint');
    expect(output).toContain('lint/complexity/noCommaOperator');
    expect(status).not.toBe(0);
  });
});

interface Configuration {
  readonly linter: Linter;
  readonly overrides: readonly { readonly linter: Linter }[];
}

interface Linter {
  readonly rules: Readonly<Record<string, string | Readonly<Record<string, unknown>>>>;
}
