import { createRequire } from 'node:module';
import type { IConfiguration, IRegularForbiddenRuleType } from 'dependency-cruiser';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Files, fixture, type Outcome, shell } from './fixture.ts';
import { ROOT, readJson, repositoryFiles } from './repository.ts';

const rules = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as IConfiguration;

/** What stands where an arrow may point to. */
const TARGETS: Files = {
  'lib/settings.ts': 'export const LIMIT = 1;\n',
  'lib/store/tables.ts': 'export const TABLES = 1;\n',
  'lib/store/put.ts': 'export interface Put {\n  a: 1;\n}\nexport const put = 1;\n',
  'lib/client/index.ts': "import { put } from '../store/put.ts';\nexport const submit = put;\n",
  'lib/cli/main.ts': "import { submit } from '../client/index.ts';\nexport const main = submit;\n",
  'lib/kubernetes/pods.ts': "import { LIMIT } from '../settings.ts';\nexport const pods = LIMIT;\n",
  'lib/aws/groups.ts': "import { LIMIT } from '../settings.ts';\nexport const groups = LIMIT;\n",
  'functions/one/handler.ts': "import { put } from '../../lib/store/put.ts';\nexport const handler = put;\n",
  'infra/main.ts':
    "import { LIMIT } from '../lib/settings.ts';\nimport { TABLES } from '../lib/store/tables.ts';\nexport const app = LIMIT + TABLES;\n",
  'local/main.ts':
    "import { app } from '../infra/main.ts';\nimport { put } from '../lib/store/put.ts';\nexport const engine = app + put;\n",
  'demo/main.ts':
    "import { submit } from '../lib/client/index.ts';\nimport { engine } from '../local/main.ts';\nexport const demo = submit + engine;\n",
  'cases/main.ts':
    "import { submit } from '../lib/client/index.ts';\nimport { engine } from '../local/main.ts';\nexport const cases = submit + engine;\n",
  'bench/main.ts': "import { demo } from '../demo/main.ts';\nexport const bench = demo;\n",
  'test/helper.ts': "import { put } from '../lib/store/put.ts';\nexport const helper = put;\n",
  'lib/hash.ts': "import { createHash } from 'node:crypto';\nexport const hash = createHash;\n",
};

/** What may be done and must not be reported. */
const ALLOWED: Files = {
  'lib/store/put.test.ts':
    "import { handler } from '../../functions/one/handler.ts';\nimport { helper } from '../../test/helper.ts';\nexport const a = handler + helper;\n",
  'lib/plans/plan.test.ts':
    "import { put } from '../store/put.ts';\nimport 'node:fs';\nimport 'vitest';\nexport const a = put;\n",
  'lib/plans/plan.ts':
    "import * as z from 'zod/mini';\nimport { LIMIT } from '../settings.ts';\nexport const plan = z.string(String(LIMIT));\n",
  'functions/two/handler.ts':
    "import type { SQSEvent } from 'aws-lambda';\nexport const handler = (e: SQSEvent) => e;\n",
};

/** One import each that a rule is there to refuse: importing file, imported module, rule. */
const WRONG: readonly (readonly [file: string, imported: string, rule: string])[] = [
  ['lib/store/up-to-functions.ts', '../../functions/one/handler.ts', 'lib-arrows'],
  ['lib/store/up-to-infra.ts', '../../infra/main.ts', 'lib-arrows'],
  ['lib/client/up-to-local.ts', '../../local/main.ts', 'lib-arrows'],
  ['lib/plans/up-to-bench.ts', '../../bench/main.ts', 'lib-arrows'],
  ['lib/aws/up-to-demo.ts', '../../demo/main.ts', 'lib-arrows'],
  ['lib/cli/up-to-test.ts', '../../test/helper.ts', 'lib-arrows'],
  ['functions/one/to-infra.ts', '../../infra/main.ts', 'functions-arrows'],
  ['functions/one/to-local.ts', '../../local/main.ts', 'functions-arrows'],
  ['functions/one/to-two.ts', '../two/handler.ts', 'functions-stand-apart'],
  ['functions/one/to-cli.ts', '../../lib/cli/main.ts', 'cli-is-an-edge'],
  ['lib/client/to-cli.ts', '../cli/main.ts', 'cli-is-an-edge'],
  ['infra/to-store.ts', '../lib/store/put.ts', 'infra-arrows'],
  ['infra/to-functions.ts', '../functions/one/handler.ts', 'infra-arrows'],
  ['local/to-functions.ts', '../functions/one/handler.ts', 'local-arrows'],
  ['local/to-demo.ts', '../demo/main.ts', 'local-arrows'],
  ['demo/to-functions.ts', '../functions/one/handler.ts', 'demo-arrows'],
  ['cases/to-demo.ts', '../demo/main.ts', 'cases-arrows'],
  ['examples/to-store.ts', '../lib/store/put.ts', 'examples-arrows'],
  ['bench/to-test.ts', '../test/helper.ts', 'bench-arrows'],
  ['lib/store/to-client.ts', '../client/index.ts', 'store-below-client'],
  ['lib/plans/to-store.ts', '../store/put.ts', 'pure-imports-no-adapter'],
  ['lib/tasks/to-client.ts', '../client/index.ts', 'pure-imports-no-adapter'],
  ['lib/nodes/to-kubernetes.ts', '../kubernetes/pods.ts', 'pure-imports-no-adapter'],
  ['lib/scaler/to-aws.ts', '../aws/groups.ts', 'pure-imports-no-adapter'],
  ['lib/time.ts', './store/put.ts', 'pure-imports-no-adapter'],
  ['lib/ids.ts', './client/index.ts', 'pure-imports-no-adapter'],
  ['lib/plans/to-sdk.ts', '@aws-sdk/client-dynamodb', 'pure-imports-no-package'],
  ['lib/tasks/to-logger.ts', '@aws-lambda-powertools/logger', 'pure-imports-no-package'],
  ['lib/nodes/to-file.ts', 'node:fs', 'pure-imports-no-builtin'],
  ['lib/plans/to-crypto.ts', 'node:crypto', 'pure-imports-no-builtin'],
  ['lib/store/to-dev.ts', 'typescript', 'no-dev-dependency-in-production'],
  ['functions/one/to-dev.ts', 'typescript', 'no-dev-dependency-in-production'],
  ['local/to-nowhere.ts', './nowhere.ts', 'no-unresolvable'],
  ['test/to-a-test.ts', '../lib/store/put.test.ts', 'no-import-of-tests'],
];

const importing = (module: string) => `import * as it from '${module}';\nexport const used = it;\n`;

/** Faults that are more than one import of a value. */
const FAULTY: Files = {
  'lib/plans/type-of-store.ts': "import type { Put } from '../store/put.ts';\nexport type P = Put;\n",
  'lib/plans/late.ts': "export const late = () => import('../store/put.ts');\n",
  'lib/plans/passed-on.ts': "export { put } from '../store/put.ts';\n",
  'lib/store/hen.ts': "import type { Egg } from './egg.ts';\nexport type Hen = Egg | 1;\n",
  'lib/store/egg.ts': "import type { Hen } from './hen.ts';\nexport type Egg = Hen | 2;\n",
  'lib/alone.ts': 'export const alone = 1;\n',
};

const dependencies = ['zod', '@aws-sdk/client-dynamodb', '@aws-lambda-powertools/logger'];

describe('arrows between the folders', () => {
  let repository: { modules: { source: string; dependencies: { resolved: string; couldNotResolve: boolean }[] }[] };
  beforeAll(async () => {
    const { output } = await shell(`${readJson<Manifest>('package.json').scripts.arrows} --output-type json`, ROOT);
    repository = JSON.parse(output) as typeof repository;
  });

  it('reports nothing of what is allowed', async () => {
    const allowed = { ...TARGETS, ...ALLOWED, 'lib/store/uses.ts': importing('./tables.ts') };
    const { status, output } = await fixture(allowed, dependencies).script('arrows');
    expect(status, output).toBe(0);
  });

  it('reports each arrow that points the wrong way, and nothing else', async () => {
    const wrong = Object.fromEntries(WRONG.map(([file, imported]) => [file, importing(imported)]));
    const { status, output } = await fixture({ ...TARGETS, ...ALLOWED, ...wrong, ...FAULTY }, dependencies).script(
      'arrows',
    );
    expect(status).not.toBe(0);
    expect(reported(output)).toEqual(
      [
        ...WRONG.map(([file, , rule]) => `${rule}: ${file}`),
        'no-cycle: lib/store/egg.ts',
        'no-orphan: lib/alone.ts',
        'pure-imports-no-adapter: lib/plans/late.ts',
        'pure-imports-no-adapter: lib/plans/passed-on.ts',
        'pure-imports-no-adapter: lib/plans/type-of-store.ts',
      ].sort(),
    );
  });

  it('lets lib/gzip.ts compress and do nothing else', async () => {
    const files = { 'lib/gzip.ts': importing('node:os') };
    expect(reported((await fixture(files).script('arrows')).output)).toEqual(['compression-only: lib/gzip.ts']);
  });

  it('lets lib/hash.ts hash and do nothing else', async () => {
    const files = { 'lib/hash.ts': importing('node:os') };
    expect(reported((await fixture(files).script('arrows')).output)).toEqual(['hashes-only: lib/hash.ts']);
  });

  it('has a fault here for every rule', () => {
    const elsewhere = ['no-cycle', 'no-orphan', 'hashes-only', 'compression-only'];
    const shown = new Set([...WRONG.map(([, , rule]) => rule), ...elsewhere]);
    expect([...shown].sort()).toEqual((rules.forbidden ?? []).map(({ name }) => name).sort());
  });

  // dependency-cruiser is green over nothing when it cannot read TypeScript (with the compiler of version 7, for one).
  it('sees every source file of the repository, and its imports', () => {
    const cruised = new Map(repository.modules.map((module) => [module.source, module.dependencies]));
    const sources = repositoryFiles().filter((path) => path.endsWith('.ts') && path.includes('/'));
    expect(sources.length).toBeGreaterThan(20);
    expect(sources.filter((path) => !cruised.has(path))).toEqual([]);
    const arrows = sources.flatMap((path) => cruised.get(path) ?? []);
    expect(arrows.length).toBeGreaterThan(sources.length);
    expect(arrows.filter(({ couldNotResolve }) => couldNotResolve)).toEqual([]);
    const own = cruised.get('test/house/arrows.test.ts')?.map(({ resolved }) => resolved);
    expect(own).toEqual(expect.arrayContaining(['test/house/fixture.ts', 'test/house/repository.ts']));
  });

  it('knows of every folder of lib whether it is pure or an adapter', () => {
    const rule = rules.forbidden?.find(({ name }) => name === 'pure-imports-no-adapter') as IRegularForbiddenRuleType;
    const known = [rule.from.path, rule.to.path].map((path) => new RegExp(String(path)));
    const strangers = repositoryFiles().filter(
      (path) => /^lib\/.*\.ts$/.test(path) && !known.some((one) => one.test(path)),
    );
    expect(strangers).toEqual([]);
  });
});

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
}

/** `rule: file` of every violation in the output, sorted, each once. */
function reported(output: Outcome['output']): string[] {
  const found = output.matchAll(/^\s*error (\S+): (\S+?)(?: →.*)?$/gm);
  return [...new Set([...found].map(([, rule, file]) => `${rule}: ${file}`))].sort();
}
