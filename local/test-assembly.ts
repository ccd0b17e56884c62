import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A template as CDK writes it, as far as the engine reads it. */
export interface TestTemplate {
  readonly Resources?: Readonly<Record<string, unknown>>;
  readonly Outputs?: Readonly<Record<string, unknown>>;
  readonly Parameters?: Readonly<Record<string, unknown>>;
}

/**
 * Writes a cloud assembly for tests.
 *
 * @param stacks templates by the name of their stack
 * @param bundles sources of ES modules; `one` is the asset of the code `{ S3Bucket: 'b', S3Key: 'one.zip' }`
 * @returns `directory`
 */
export function writeAssembly(
  directory: string,
  stacks: Readonly<Record<string, TestTemplate>>,
  bundles: Readonly<Record<string, string>> = {},
): string {
  const write = (file: string, content: unknown) => writeFileSync(join(directory, file), JSON.stringify(content));
  mkdirSync(directory, { recursive: true });
  const artifacts: Record<string, unknown> = {
    assets: { type: 'cdk:asset-manifest', properties: { file: 'assets.json' } },
    Tree: { type: 'cdk:tree', properties: { file: 'tree.json' } },
  };
  for (const [name, template] of Object.entries(stacks)) {
    artifacts[name] = { type: 'aws:cloudformation:stack', properties: { templateFile: `${name}.template.json` } };
    write(`${name}.template.json`, template);
  }
  const files: Record<string, unknown> = {};
  for (const [name, source] of Object.entries(bundles)) {
    mkdirSync(join(directory, `asset.${name}`), { recursive: true });
    writeFileSync(join(directory, `asset.${name}`, 'index.mjs'), source);
    files[name] = { source: { path: `asset.${name}` }, destinations: { here: { objectKey: `${name}.zip` } } };
  }
  write('assets.json', { files });
  write('manifest.json', { artifacts });
  return directory;
}

/** A function resource whose bundle is `bundle`. */
export function testFunction(bundle: string, properties: Readonly<Record<string, unknown>> = {}) {
  return {
    Type: 'AWS::Lambda::Function',
    Properties: {
      Code: { S3Bucket: 'b', S3Key: `${bundle}.zip` },
      Handler: 'index.handler',
      Runtime: 'nodejs24.x',
      Timeout: 10,
      ...properties,
    },
  };
}

/** A FIFO queue as the plan queue is. */
export function testFifoQueue(name: string, properties: Readonly<Record<string, unknown>> = {}) {
  return {
    Type: 'AWS::SQS::Queue',
    Properties: {
      QueueName: name,
      FifoQueue: true,
      ContentBasedDeduplication: false,
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
      ...properties,
    },
  };
}

/** A queue that is not FIFO. */
export function testStandardQueue(name: string, properties: Readonly<Record<string, unknown>> = {}) {
  return { Type: 'AWS::SQS::Queue', Properties: { QueueName: name, ...properties } };
}

/** A mapping of the queue with logical id `queue` to the function `fn`, as that of the plan applier. */
export function testMapping(queue: string, fn: string, properties: Readonly<Record<string, unknown>> = {}) {
  return {
    Type: 'AWS::Lambda::EventSourceMapping',
    Properties: {
      EventSourceArn: { 'Fn::GetAtt': [queue, 'Arn'] },
      FunctionName: { Ref: fn },
      BatchSize: 10,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ...properties,
    },
  };
}

/** A table with a partition key `p`, a sort key `s`, expiry by `expiresAt` and a stream. */
export function testTable(name: string, properties: Readonly<Record<string, unknown>> = {}) {
  return {
    Type: 'AWS::DynamoDB::Table',
    Properties: {
      TableName: name,
      KeySchema: [
        { AttributeName: 'p', KeyType: 'HASH' },
        { AttributeName: 's', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'p', AttributeType: 'S' },
        { AttributeName: 's', AttributeType: 'S' },
      ],
      StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
      TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
      ...properties,
    },
  };
}

/** A mapping of the stream of the table with logical id `table` to the function `fn`. */
export function testStreamMapping(table: string, fn: string, properties: Readonly<Record<string, unknown>> = {}) {
  return {
    Type: 'AWS::Lambda::EventSourceMapping',
    Properties: {
      EventSourceArn: { 'Fn::GetAtt': [table, 'StreamArn'] },
      FunctionName: { Ref: fn },
      StartingPosition: 'TRIM_HORIZON',
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ...properties,
    },
  };
}
