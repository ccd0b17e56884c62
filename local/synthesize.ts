import { PROJECT_ROOT } from '../infra/project-root.ts';
import { type AssemblySources, assembledInto } from './assembly-cache.ts';

/** The cluster that the node scaler works on here; a simulated EKS answers for it, or nothing does. */
const CLUSTERS = [{ name: 'local', region: 'us-east-1' }];

const APP: AssemblySources = {
  root: PROJECT_ROOT,
  // The last is the list of what npm has installed, which may be other than what the lock file says.
  sources: [
    ...['infra', 'functions', 'lib', 'local/synthesize.ts'],
    ...['package.json', 'tsconfig.json', 'node_modules/.package-lock.json'],
  ],
  cache: 'node_modules/.cache/berth-assembly',
};

/**
 * Writes the cloud assembly of the app into `directory`, as `cdk synth` would: the templates as they are deployed, and
 * the bundles. Without the checks of cdk-nag, which are for who deploys. Takes ten seconds if something has changed since it
 * was last done, else none.
 */
export async function synthesize(directory: string): Promise<void> {
  await assembledInto(directory, APP, async (outdir) => {
    // CDK takes a second to load: only who synthesizes waits for it.
    const { berthApp } = await import('../infra/berth-app.ts');
    berthApp({ outdir, checks: false, context: { clusters: CLUSTERS } }).synth();
  });
}
