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
  readonly clock: Clock;
  /** Shards of the pools that were read. They never change. */
  readonly shards: Map<PoolName, number>;
}

export interface ConnectOptions {
  /**
   * Where Berth is: `BERTH_TABLE_NODES`, `BERTH_TABLE_TASKS`, `BERTH_TABLE_PLANS`, `BERTH_TABLE_POOLS`, `BERTH_QUEUE_PLANS`
   * (the outputs of the state stack; the local engine prints them), and `AWS_REGION`, credentials and endpoints as
   * the AWS SDK takes them. Default: the environment of the process.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: the system's clock. */
  readonly clock?: Clock;
}

/** Throws with the variable's name if one that is needed is not set. */
export function openConnection({ env = process.env, clock = systemClock }: ConnectOptions = {}): Connection {
  const config = (endpoint: string | undefined) => ({
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
  });
  return {
    // Workers and agents are long-lived and in no hurry: more tries than a function has time for.
    dynamo: dynamoClient({ ...config(env.AWS_ENDPOINT_URL_DYNAMODB ?? env.AWS_ENDPOINT_URL), maxAttempts: 8 }),
    sqs: new SQSClient({ ...config(env.AWS_ENDPOINT_URL_SQS ?? env.AWS_ENDPOINT_URL), maxAttempts: 8 }),
    tables: tableNamesFromEnv(env, ['nodes', 'tasks', 'plans', 'pools']),
    planQueueUrl: requiredEnv(env, QUEUE_ENV.plans),
    clock,
    shards: new Map(),
  };
}
