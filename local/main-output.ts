import type { Engine } from './engine.ts';
import { ENDPOINT_ENV } from './foreign-endpoint.ts';

/** What is told of an engine. */
type Started = Pick<Engine, 'endpoints' | 'queues' | 'dataDir' | 'foreign' | 'env'> & {
  readonly eventSources: Pick<Engine['eventSources'], 'all'>;
};

/** Files that were written for whoever has started the engine. */
interface WrittenFiles {
  /** Environment variables. */
  readonly env?: string | undefined;
  /** Of the simulated cluster. */
  readonly kubeconfig?: string | undefined;
}

/** Variables as a shell takes them in (`. FILE`) and as `node --env-file` reads them. */
export function exportLines(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}`);
}

/** A shell would take the quotes out of JSON. No value has a single quote in it. */
function quoted(value: string): string {
  return /^[\w@%+=:,./-]*$/.test(value) ? value : `'${value}'`;
}

/** Where things are, for somebody who has just started the engine. */
export function summary(engine: Started, { env: envFile, kubeconfig }: WrittenFiles): string {
  const sources = engine.eventSources.all.map(({ source, functionName }) => `${source} -> ${functionName}`);
  const where = [
    ['DynamoDB', engine.endpoints.dynamodb],
    ['SQS', engine.endpoints.sqs],
    ['Queues', [...engine.queues.keys()].join(', ')],
    ['Functions', sources.join(', ')],
    ['State', whereStateIs(engine)],
  ];
  const env =
    envFile === undefined ? ['For clients, paste:', '', ...exportLines(engine.env)] : [`For clients: . ${envFile}`];
  const pools = kubeconfig === undefined ? [] : [...aboutPools(kubeconfig), ''];
  const table = where.map(([name, value]) => `${name?.padEnd(11)}${value}`);
  return [...table, '', ...env, '', ...pools, 'Ctrl-C ends it.'].join('\n');
}

function whereStateIs({ dataDir, foreign: { dynamodb, sqs } }: Started): string {
  const own = dataDir ?? 'in memory, gone at the end (keep it with --data DIR)';
  if (dynamodb === undefined && sqs === undefined) return own;
  const at = (variable: string, url: string | undefined) => (url === undefined ? own : `at ${url} (${variable})`);
  return `tables ${at(ENDPOINT_ENV.dynamodb, dynamodb)}; queues ${at(ENDPOINT_ENV.sqs, sqs)}`;
}

function aboutPools(kubeconfig: string): string[] {
  const kubectl = `kubectl --kubeconfig ${quoted(kubeconfig)}`;
  return [
    'A cluster with 2 nodes for games is simulated; the node scaler looks at it every minute, and a machine takes two to join.',
    'Its state is in memory. To try:',
    '',
    `  ${kubectl} get nodes`,
    `  ${kubectl} apply -f deploy/kubernetes/example.yaml`,
    `  ${kubectl} get gsn -w`,
    `  ${kubectl} describe gsn game`,
    `  ${kubectl} scale gsn game --replicas 1`,
    '  npx berth scaler status              # with the variables for clients',
  ];
}
