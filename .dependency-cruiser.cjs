// Arrows point one way (docs/decisions/0001-toolchain.md). Every rule here is shown to fail by test/house/arrows.test.ts.

const TEST = '\\.test\\.ts$|^test/';

/** Decides from data to data: no clock, no SDK, no randomness, no environment. */
const PURE = '^lib/([^/]+\\.ts$|(plans|tasks|nodes|scaler)/)';
const ADAPTERS = '^lib/(store|client|cli|cron|kubernetes|aws|providers)/';
/** What pure code may take from npm. zod checks shapes and knows nothing of the outside. */
const PURE_PACKAGES = 'node_modules/zod/';
/** A hash is a pure function of its input; nothing else of node:crypto is (test/house/purity.test.ts). */
const HASHES = '^lib/hash\\.ts$';
/** So is compressing. */
const COMPRESSION = '^lib/gzip\\.ts$';

const OURS = '^(lib|functions|infra|local|demo|cases|bench|examples|test)/';

function only(folder, allowed, comment) {
  return {
    name: `${folder}-arrows`,
    comment,
    severity: 'error',
    from: { path: `^${folder}/`, pathNot: TEST },
    to: { path: OURS, pathNot: [`^${folder}/`, ...allowed] },
  };
}

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    only('lib', [], 'Everything else stands on lib; lib stands on nothing of ours.'),
    only('functions', ['^lib/'], 'A function is a thin edge over lib.'),
    only(
      'infra',
      ['^lib/(settings|store/tables|scaler/cluster-settings)\\.ts$'],
      'Settings and tables are all that infra and lib share.',
    ),
    only('local', ['^lib/', '^infra/'], 'The engine synthesizes infra and runs bundles; it never imports a handler.'),
    only('demo', ['^lib/', '^local/'], 'The demo is a user of the client and of the engine.'),
    only('cases', ['^lib/', '^local/'], 'Cases are run through the pure code of lib and through the engine.'),
    only('examples', ['^lib/client/index\\.ts$'], 'An example imports what a user imports: the client.'),
    only('bench', ['^lib/', '^functions/', '^infra/', '^local/', '^demo/'], 'A benchmark measures anything but tests.'),
    {
      name: 'functions-stand-apart',
      comment: 'One folder per Lambda: what two functions share belongs into lib.',
      severity: 'error',
      from: { path: '^functions/([^/]+)/', pathNot: TEST },
      to: { path: '^functions/', pathNot: '^functions/$1/' },
    },
    {
      name: 'cli-is-an-edge',
      comment: 'The command stands on the rest of lib; nothing of lib or of a function stands on the command.',
      severity: 'error',
      from: { path: '^(lib|functions)/', pathNot: ['^lib/cli/', TEST] },
      to: { path: '^lib/cli/' },
    },
    {
      name: 'store-below-client',
      comment: 'The client uses the store, not the other way round.',
      severity: 'error',
      from: { path: '^lib/store/', pathNot: TEST },
      to: { path: '^lib/client/' },
    },
    {
      name: 'pure-imports-no-adapter',
      comment: 'The deciding parts are given what they need. Move the reading and writing to the caller.',
      severity: 'error',
      from: { path: PURE, pathNot: TEST },
      to: { path: ADAPTERS },
    },
    {
      name: 'pure-imports-no-package',
      comment: 'No SDK, no logger, no client in the deciding parts; zod alone.',
      severity: 'error',
      from: { path: PURE, pathNot: TEST },
      to: { path: 'node_modules/', pathNot: PURE_PACKAGES },
    },
    {
      name: 'pure-imports-no-builtin',
      comment: 'node: modules reach for files, network, time or chance.',
      severity: 'error',
      from: { path: PURE, pathNot: [HASHES, COMPRESSION, TEST] },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'hashes-only',
      comment: 'lib/hash.ts hashes and does nothing else.',
      severity: 'error',
      from: { path: HASHES },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?crypto$' },
    },
    {
      name: 'compression-only',
      comment: 'lib/gzip.ts compresses and does nothing else.',
      severity: 'error',
      from: { path: COMPRESSION },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?zlib$' },
    },
    {
      name: 'no-dev-dependency-in-production',
      comment: 'What is deployed or published must be in dependencies; types alone may come from devDependencies.',
      severity: 'error',
      from: { path: '^(lib|functions)/', pathNot: TEST },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-import-of-tests',
      comment: 'A helper that two tests share is a file of its own under test/.',
      severity: 'error',
      from: {},
      to: { path: '\\.test\\.ts$' },
    },
    {
      name: 'no-cycle',
      comment: 'Two files that need each other are one thought; types count as well.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphan',
      comment: 'A file that imports nothing and that nothing imports is dead or in the wrong place.',
      severity: 'error',
      from: { orphan: true, pathNot: '\\.d\\.ts$' },
      to: {},
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that is not found is an arrow that no rule above can see.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Types are arrows too: what compiles away still ties one file to another.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
