import { type ClusterSettings, clusterIdOf, readClusters } from '../lib/scaler/cluster-settings.ts';
import { SettingsError } from './rules.ts';

export { type ClusterSettings, clusterIdOf };

/** The clusters of the context value; none where it is left out. Throws a {@link SettingsError} with every problem's path. */
export function checkedClusters(input: unknown): readonly ClusterSettings[] {
  const read = readClusters(input ?? []);
  if ('clusters' in read) return read.clusters;
  throw new SettingsError(
    read.problems.map(
      ({ path, message }) =>
        `context value clusters${path}: ${message}. Such as -c 'clusters=[{"name":"game","region":"eu-central-1"}]'`,
    ),
  );
}
