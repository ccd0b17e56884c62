import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { PoolName } from '../ids.ts';
import { dynamoClient } from '../store/dynamo.ts';
import { QUEUE_ENV, requiredEnv, type TableNames, tableNamesFromEnv } from '../store/tables.ts';
import { type Clock, systemClock } from '../time.ts';

/** What every part of the client works with. */
export interface Connection {
  readonly dynamo: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly tables: Pick<TableNames, 'nodes' | 'tasks' | 'plans' | 'pools'>;
  readonly planQueueUrl: string;
  /** Of the queues and tables that operators alone need; throw with the variable's name if the environment lacks it. */
  readonly rejectionsTable: () => string;
  readonly servicesTable: () => string;
  readonly queueUrl: (queue: 'plansDead' | 'quarantine' | 'sweep' | 'reaperFailures') => string;
  /**
   * Seconds for which an operator's look into a queue waits for more messages: a poll that does not wait asks a part of
   * SQS's servers and may find nothing where there is something.
   */
  readonly pollSeconds: number;
  readonly clock: Clock;
  /** Shards of the pools that were read. They never change. */
  readonly shards: Map<PoolName, number>;
}

/** What nodes and pools are read and written with, by whoever knows neither queues nor plans. */
export interface NodeConnection extends Pick<Connection, 'rejectionsTable' | 'clock' | 'shards'> {
  readonly dynamo: Pick<DynamoDBClient, 'send'>;
  readonly tables: Pick<TableNames, 'nodes' | 'tasks' | 'pools'>;
}

export interface ConnectOptions {
  /**
   * Where Berth is: `BERTH_TABLE_NODES`, `BERTH_TABLE_TASKS`, `BERTH_TABLE_PLANS`, `BERTH_TABLE_POOLS`, `BERTH_QUEUE_PLANS`
   * (the outputs of the state stack; the local engine prints them), and `AWS_REGION`, credentials and endpoints as
   * the AWS SDK takes them. Operators also need `BERTH_TABLE_REJECTIONS`, `BERTH_TABLE_SERVICES`, `BERTH_QUEUE_QUARANTINE`,
   * `BERTH_QUEUE_PLANS_DEAD`, `BERTH_QUEUE_SWEEP` and `BERTH_QUEUE_REAPER_FAILURES`. Default: the environment of the process.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: the system's clock. */
  readonly clock?: Clock;
}

type Env = NonNullable<ConnectOptions['env']>;

/** Throws with the variable's name if one that is needed is not set. */
export function openConnection({ env = process.env, clock = systemClock }: ConnectOptions = {}): Connection {
  const tables = tableNamesFromEnv(env, ['nodes', 'tasks', 'plans', 'pools']);
  const planQueueUrl = requiredEnv(env, QUEUE_ENV.plans);
  return {
    dynamo: dynamoClient({ ...configOf(env, env.AWS_ENDPOINT_URL_DYNAMODB), maxAttempts: MAX_ATTEMPTS }),
    sqs: sqsClient(env),
    tables,
    planQueueUrl,
    rejectionsTable: () => tableNamesFromEnv(env, ['rejections']).rejections,
    servicesTable: () => tableNamesFromEnv(env, ['services']).services,
    queueUrl: (queue) => requiredEnv(env, QUEUE_ENV[queue]),
    pollSeconds: 1,
    clock,
    shards: new Map(),
  };
}

/** Workers and agents are long-lived and in no hurry: more tries than a function has time for. */
const MAX_ATTEMPTS = 8;

/** SQS as `env` names it. */
export function sqsClient(env: Env): SQSClient {
  return new SQSClient({ ...configOf(env, env.AWS_ENDPOINT_URL_SQS), maxAttempts: MAX_ATTEMPTS });
}

/** What the SDK would read from the environment of the process, read from `env`. */
/** Region, credentials and endpoint of a client of the SDK, from `env`. `own`: an endpoint of that service alone. */
export function configOf(env: Env, own: string | undefined) {
  const endpoint = own ?? env.AWS_ENDPOINT_URL;
  return {
    ...(env.AWS_REGION === undefined ? {} : { region: env.AWS_REGION }),
    ...(endpoint === undefined || endpoint === '' ? {} : { endpoint }),
    ...(env.AWS_ACCESS_KEY_ID === undefined || env.AWS_SECRET_ACCESS_KEY === undefined
      ? {}
      : {
          credentials: {
            accessKeyId: env.AWS_ACCESS_KEY_ID,
            secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
            ...(env.AWS_SESSION_TOKEN === undefined ? {} : { sessionToken: env.AWS_SESSION_TOKEN }),
          },
        }),
  };
}
