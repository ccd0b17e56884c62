/** The cluster that the node scaler works on here; a simulated EKS answers for it, or nothing does. */
const CLUSTERS = [{ name: 'local', region: 'us-east-1' }];

/**
 * Writes the cloud assembly of the app into `directory`, as `cdk synth` would: the templates as they are deployed, and
 * the bundles. Without the checks of cdk-nag, which are for who deploys.
 */
export async function synthesize(directory: string): Promise<void> {
  // CDK takes a second to load: only who synthesizes waits for it.
  const { berthApp } = await import('../infra/berth-app.ts');
  berthApp({ outdir: directory, checks: false, context: { clusters: CLUSTERS } }).synth();
}
