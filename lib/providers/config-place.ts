import type { Problem } from '../schema.ts';
import type { AwsCalls } from './aws-calls.ts';

/** What is wrong with `cluster` and `region` of a config: both may be left out, and neither may say what is not so. */
export async function placeProblems(
  config: Readonly<Record<string, string>>,
  cluster: string,
  calls: Pick<AwsCalls, 'region'>,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  if (config.cluster !== undefined && config.cluster !== cluster) {
    const message = `expected ${cluster}, the cluster that this object is in, got "${config.cluster}": mend it, or take it out`;
    problems.push({ path: 'spec.config.cluster', message });
  }
  if (config.region === undefined) return problems;
  const region = await calls.region();
  if (config.region !== region) {
    const message = `expected ${region}, the region of this cluster, got "${config.region}": mend it, or take it out`;
    problems.push({ path: 'spec.config.region', message });
  }
  return problems;
}
