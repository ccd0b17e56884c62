import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/house/longest-first.ts';

// No test may reach a real account, whatever the developer's shell holds: what AWS tools read is taken out and replaced.
for (const name of Object.keys(process.env)) {
  if (/^(AWS|AMAZON|CDK|BERTH)_/.test(name) || name === 'KUBECONFIG') delete process.env[name];
}

const NO_ACCOUNT = {
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_REGION: 'us-east-1',
  AWS_DEFAULT_REGION: 'us-east-1',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
  // The discard port, where nothing listens: a client that was given no endpoint of an emulator is refused at once.
  AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
  // The SDK warns of the end of Node 20 on every start, which hides what a test prints. Lambda runs a newer Node.
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
};

export default defineConfig({
  test: {
    environment: 'node',
    env: NO_ACCOUNT,
    setupFiles: ['test/support/seeded.ts'],
    include: ['**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/cdk.out/**', 'out/**'],
    // Processes, not threads: a test that starts an engine, changes the environment or crashes touches no other file.
    pool: 'forks',
    maxWorkers: Math.min(4, availableParallelism()),
    sequence: { sequencer: LongestFirst },
    // For tests that start an engine on a busy machine of two cores. No test passes or fails by its duration.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    allowOnly: false,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    coverage: {
      provider: 'v8',
      include: ['lib/**/*.ts', 'functions/**/*.ts', 'infra/**/*.ts', 'local/**/*.ts'],
      exclude: ['**/*.test.ts'],
      reporter: ['text', 'html', 'json-summary'],
      reportsDirectory: 'coverage',
    },
  },
});
