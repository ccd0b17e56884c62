import type { Engine } from './engine.ts';

/** Variables as a shell takes them in (`. FILE`) and as `node --env-file` reads them. */
export function exportLines(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}`);
}

/** A shell would take the quotes out of JSON. No value has a single quote in it. */
function quoted(value: string): string {
  return /^[\w@%+=:,./-]*$/.test(value) ? value : `'${value}'`;
}

/** Where things are, for somebody who has just started the engine. */
export function summary(engine: Engine, envFile: string | undefined): string {
  const sources = engine.eventSources.all.map(({ source, functionName }) => `${source} -> ${functionName}`);
  const where = [
    ['DynamoDB', engine.endpoints.dynamodb],
    ['SQS', engine.endpoints.sqs],
    ['Queues', [...engine.queues.keys()].join(', ')],
    ['Functions', sources.join(', ')],
    ['State', engine.dataDir ?? 'in memory, gone at the end (keep it with --data DIR)'],
  ];
  const env =
    envFile === undefined ? ['For clients, paste:', '', ...exportLines(engine.env)] : [`For clients: . ${envFile}`];
  return [...where.map(([name, value]) => `${name?.padEnd(11)}${value}`), '', ...env, '', 'Ctrl-C ends it.'].join('\n');
}
