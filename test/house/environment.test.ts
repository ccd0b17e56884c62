import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { shell } from './fixture.ts';
import { ROOT } from './repository.ts';

it('gives no test credentials, a profile or an endpoint of a real account', async () => {
  const given = Object.keys(process.env).filter(
    (name) => /^(AWS|AMAZON|CDK|BERTH)_/.test(name) || name === 'KUBECONFIG',
  );
  expect(given.sort()).toEqual([
    'AWS_ACCESS_KEY_ID',
    'AWS_CONFIG_FILE',
    'AWS_DEFAULT_REGION',
    'AWS_EC2_METADATA_DISABLED',
    'AWS_ENDPOINT_URL',
    'AWS_REGION',
    'AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SHARED_CREDENTIALS_FILE',
  ]);
});

it('refuses a client that was given no endpoint, on this machine', async () => {
  const options = { maxAttempts: 1 };
  await expect(new DynamoDBClient(options).send(new ListTablesCommand({}))).rejects.toThrow(
    /ECONNREFUSED 127\.0\.0\.1:9/,
  );
  await expect(new SQSClient(options).send(new ListQueuesCommand({}))).rejects.toThrow(/ECONNREFUSED 127\.0\.0\.1:9/);
});

it('takes out what the shell of a developer holds', async () => {
  const shown = 'vitest run test/house/environment.test.ts -t "no test credentials"';
  const secrets =
    'AWS_PROFILE=production AWS_SESSION_TOKEN=secret AWS_ENDPOINT_URL_SQS=https://example.com KUBECONFIG=x';
  const { status, output } = await shell(`${secrets} ${shown}`, ROOT);
  expect(status, output).toBe(0);
});
