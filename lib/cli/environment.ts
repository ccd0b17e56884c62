import { GetQueueUrlCommand } from '@aws-sdk/client-sqs';
import { sqsClient } from '../client/connection.ts';
import {
  isPrefix,
  PREFIX_EXPECTED,
  QUEUE_ENV,
  type QueueName,
  queuePhysicalName,
  TABLES,
  type TableName,
  tablePhysicalName,
} from '../store/tables.ts';
import { BadInputError } from './io.ts';
import type { Patience } from './patience.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What no command does without. */
const ALWAYS = ['nodes', 'tasks', 'plans', 'pools', 'rejections', 'services'] as const satisfies readonly TableName[];

/**
 * The environment in which a client finds the tables, the plan queue and `queues`: by the variables `BERTH_*`, or by the
 * prefix of a deployment, which names all of them. The URLs of queues are asked for then.
 */
export async function clientEnvironment(
  env: Env,
  prefix: string | undefined,
  queues: readonly QueueName[],
  patience: Pick<Patience, 'watch'>,
): Promise<Env> {
  const needed = [...new Set<QueueName>(['plans', ...queues])];
  if (prefix === undefined) {
    const variables = [...ALWAYS.map((table) => TABLES[table].env), ...needed.map((queue) => QUEUE_ENV[queue])];
    const missing = variables.filter((name) => !env[name]);
    if (missing.length === 0) return env;
    throw new BadInputError(
      `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set: set the variables that the local engine prints (npm start), or name a deployment with --prefix, as in --prefix Berth`,
    );
  }
  if (!isPrefix(prefix)) {
    throw new BadInputError(
      `--prefix ${prefix}: expected ${PREFIX_EXPECTED}, as the deployment was given with -c prefix=`,
    );
  }
  const found: Record<string, string | undefined> = { ...env };
  for (const table of Object.keys(TABLES) as TableName[]) found[TABLES[table].env] = tablePhysicalName(prefix, table);
  const sqs = sqsClient(env);
  patience.watch('sqs', sqs);
  try {
    for (const queue of needed) {
      const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: queuePhysicalName(prefix, queue) }));
      found[QUEUE_ENV[queue]] = QueueUrl;
    }
    return found;
  } catch (error) {
    if (!/QueueDoesNotExist|NonExistentQueue/.test(error instanceof Error ? error.name : '')) throw error;
    throw new BadInputError(
      `--prefix ${prefix}: there is no queue of that name in this region and account; check the prefix, AWS_REGION and the credentials`,
      { cause: error },
    );
  } finally {
    sqs.destroy();
  }
}
