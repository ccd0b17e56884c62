import * as z from 'zod/mini';
import { listOf, objectOf, type Problem, problemsOf, shown } from '../schema.ts';
import { SCALER } from '../settings.ts';

/** EKS's own pattern of a cluster's name (CreateCluster). */
const NAME = 'a name of an EKS cluster: 1 to 100 letters, digits, - and _, beginning with a letter or digit';
const REGION = 'a region such as eu-central-1';
const ROLE = 'the ARN of a role, such as arn:aws:iam::111122223333:role/BerthScaler';
/**
 * What a name of an Auto Scaling group may hold, but for what would mean more than itself in a policy: `*` and `?` stand
 * for other groups, `$` begins a variable.
 */
const GROUP = 'a name of an Auto Scaling group: 1 to 255 printable ASCII characters without blanks and : * ? $';

const clusterSchema = objectOf({
  name: z.string({ error: NAME }).check(z.regex(/^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$/, { error: NAME })),
  region: z.string({ error: REGION }).check(z.regex(/^[a-z]{2}(-[a-z]{2,12}){1,3}-\d{1,2}$/, { error: REGION })),
  roleArn: z.optional(
    z
      .string({ error: ROLE })
      .check(z.regex(/^arn:aws(-[a-z]{1,8}){0,3}:iam::\d{12}:role\/[A-Za-z0-9_+=,.@/-]{1,512}$/, { error: ROLE })),
  ),
  autoScalingGroups: z._default(
    listOf(
      z.string({ error: GROUP }).check(z.regex(/^[!-#%-)+-9;->@-~]{1,255}$/, { error: GROUP })),
      SCALER.groupsPerCluster,
    ),
    [],
  ),
});

const clustersSchema = z
  .array(clusterSchema, { error: 'a list of clusters' })
  .check(z.maxLength(SCALER.maxClusters, { error: `at most ${SCALER.maxClusters} clusters` }));

/**
 * A cluster that the node scaler works on. `roleArn`: the role that it takes on for that cluster, of whichever account
 * that is in; left out: its own. `autoScalingGroups`: names of the self-managed groups whose size it may change; those of
 * EKS's node groups it may change anyway.
 */
export type ClusterSettings = z.output<typeof clusterSchema>;

/**
 * The clusters of a deployment, from JSON or from what it stands for; what is wrong with them otherwise, each problem
 * with its path in the list (`[0].region`). An empty list is a deployment without node scaler.
 */
export function readClusters(
  input: unknown,
): { readonly clusters: readonly ClusterSettings[] } | { readonly problems: readonly Problem[] } {
  const list = typeof input === 'string' ? fromJson(input) : { value: input };
  if ('problem' in list) return { problems: [{ path: '', message: list.problem }] };
  const outcome = clustersSchema.safeParse(list.value);
  if (!outcome.success) return { problems: problemsOf(outcome.error, list.value) };
  const problems = [...repeated(outcome.data), ...tooLong(outcome.data)];
  return problems.length > 0 ? { problems } : { clusters: outcome.data };
}

function fromJson(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { problem: `expected a list of clusters as JSON, got ${shown(text)}` };
  }
}

/**
 * What a cluster is known by: in metrics, in the log, and where its lease is. Without the account, so that a cluster that
 * is reached by another role stays the same one: what has been ordered for it is not forgotten.
 */
export function clusterIdOf({ region, name }: Pick<ClusterSettings, 'region' | 'name'>): string {
  return `${region}/${name}`;
}

function repeated(clusters: readonly ClusterSettings[]): Problem[] {
  const ids = clusters.map(clusterIdOf);
  return ids.flatMap((id, at) => {
    const first = ids.indexOf(id);
    if (first === at) return [];
    const message = `${id} stands at [${first}] already: take one out; clusters of one name and region in two accounts want two deployments, each with a prefix of its own`;
    return [{ path: `[${at}].name`, message }];
  });
}

function tooLong(clusters: readonly ClusterSettings[]): Problem[] {
  const { length } = JSON.stringify(clusters);
  if (length <= SCALER.clustersBytes) return [];
  const message = `the list is ${length} bytes of JSON, and a function's environment has room for ${SCALER.clustersBytes}: spread the clusters over two deployments, each with a prefix of its own`;
  return [{ path: '', message }];
}
