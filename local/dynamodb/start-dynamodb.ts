import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import type { Cleanup } from '../cleanup.ts';
import { checkEndpoint } from '../foreign-endpoint.ts';
import { GuardedProcess } from '../guarded-process.ts';
import { CREDENTIALS } from '../local-environment.ts';
import type { Resources } from '../template/scope.ts';
import { declaredTables } from '../template/tables.ts';
import { createTable } from './create-tables.ts';
import { startDynoxide } from './dynoxide.ts';
import { Streams } from './streams.ts';

export interface DynamoDbOptions {
  /** One that runs already. */
  readonly endpoint?: string | undefined;
  /** Directory of temporary files, removed when the engine ends, however it ends. */
  readonly temporary: string;
  /** Keeps the data; left out, they live in memory. */
  readonly file?: string | undefined;
}

/** DynamoDB: the one at `endpoint`, or one of the engine's own. Answers its URL and why it ended, if it does so by itself. */
export async function startDynamoDb(
  { endpoint, temporary, file }: DynamoDbOptions,
  cleanup: Cleanup,
): Promise<{ readonly url: string; readonly failed: Promise<Error> }> {
  if (endpoint === undefined) {
    const dynoxide = await startDynoxide(temporary, file);
    cleanup.add(() => dynoxide.stop());
    return dynoxide;
  }
  // What else the database's own guard would look after.
  const guard = new GuardedProcess(temporary);
  cleanup.add(() => guard.stop());
  return { url: checkEndpoint('AWS_ENDPOINT_URL_DYNAMODB', endpoint), failed: new Promise(() => undefined) };
}

/** Creates the tables of the template, those that are missing, and defines the ARNs of their streams. */
export async function createTables(resources: Resources, url: string, cleanup: Cleanup): Promise<Streams> {
  const options = { endpoint: url, region: resources.place.region, credentials: CREDENTIALS };
  const client = new DynamoDBClient(options);
  cleanup.add(() => client.destroy());
  const streams = new DynamoDBStreamsClient(options);
  cleanup.add(() => streams.destroy());
  const tables = await Promise.all(
    declaredTables(resources).map(async (table) => {
      const created = await createTable(client, table);
      resources.define(table.declared, { attributes: { StreamArn: created.streamArn } });
      return created;
    }),
  );
  return new Streams(streams, client, tables);
}
