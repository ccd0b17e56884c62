import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import cdkJson from '../cdk.json' with { type: 'json' };
import { type BerthAppProps, berthApp } from './berth-app.ts';

// Expectations are written out, not computed from lib/: a slip there must show here.

interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

interface TemplateJson {
  readonly Resources: Record<string, Resource>;
  readonly Outputs?: Record<string, unknown>;
}

const scratch = mkdtempSync(join(tmpdir(), 'berth-synth-'));
const outdir = join(scratch, 'whole');
let state: TemplateJson;
let functions: TemplateJson;

/** One synth for all, with bundling, cdk-nag and CloudFormation's own rules. */
beforeAll(() => {
  const assembly = berthApp({ outdir }).synth();
  state = assembly.getStackByName('BerthState').template;
  functions = assembly.getStackByName('BerthFunctions').template;
});

afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

function byType(template: TemplateJson, type: string): [string, Resource][] {
  return Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);
}

function theOnly(template: TemplateJson, type: string): Resource {
  const found = byType(template, type);
  expect(found.map(([id]) => id)).toHaveLength(1);
  return (found[0] as [string, Resource])[1];
}

describe('the state stack', () => {
  test('holds these resources under these logical ids: a change of one would replace what it holds', () => {
    expect(Object.fromEntries(Object.entries(state.Resources).map(([id, { Type }]) => [id, Type]))).toEqual({
      Nodes: 'AWS::DynamoDB::Table',
      Tasks: 'AWS::DynamoDB::Table',
      Plans: 'AWS::DynamoDB::Table',
      Rejections: 'AWS::DynamoDB::Table',
      Pools: 'AWS::DynamoDB::Table',
      Services: 'AWS::DynamoDB::Table',
      Scaler: 'AWS::DynamoDB::Table',
      PlanQueue: 'AWS::SQS::Queue',
      PlanQueuePolicy: 'AWS::SQS::QueuePolicy',
      PlanDeadLetterQueue: 'AWS::SQS::Queue',
      PlanDeadLetterQueuePolicy: 'AWS::SQS::QueuePolicy',
      EventBus: 'AWS::Events::EventBus',
      QuarantineQueue: 'AWS::SQS::Queue',
      QuarantineQueuePolicy: 'AWS::SQS::QueuePolicy',
    });
  });

  test('keeps everything when it is deleted, and when an update would replace it', () => {
    for (const [id, resource] of Object.entries(state.Resources)) {
      expect([id, resource.DeletionPolicy, resource.UpdateReplacePolicy]).toEqual([id, 'Retain', 'Retain']);
    }
  });

  test('refuses to be deleted', () => {
    const stacks = JSON.parse(readFileSync(join(outdir, 'manifest.json'), 'utf8')).artifacts;
    expect(stacks.BerthState.properties.terminationProtection).toBe(true);
  });

  const TABLES = [
    { id: 'Nodes', keys: ['poolShard', 'nodeId'] },
    { id: 'Tasks', keys: ['slotKey', 'taskId'] },
    { id: 'Plans', keys: ['planId'], ttl: 'expiresAt' },
    { id: 'Rejections', keys: ['pool', 'nodeId'], ttl: 'expiresAt' },
    { id: 'Pools', keys: ['pool'] },
    { id: 'Services', keys: ['serviceId'] },
    { id: 'Scaler', keys: ['pool'], ttl: 'expiresAt' },
  ];

  test.each(TABLES)('table $id: keys, expiry, recovery, protection, billing', ({ id, keys, ttl }) => {
    expect(state.Resources[id]?.Properties).toEqual({
      TableName: `Berth-${id}`,
      KeySchema: keySchema(keys),
      AttributeDefinitions: (id === 'Tasks' ? [...keys, 'poolNode', 'serviceId'] : keys).map((name) => ({
        AttributeName: name,
        AttributeType: 'S',
      })),
      BillingMode: 'PAY_PER_REQUEST',
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      DeletionProtectionEnabled: true,
      ...(ttl === undefined ? {} : { TimeToLiveSpecification: { AttributeName: ttl, Enabled: true } }),
      ...(id === 'Tasks'
        ? {
            StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
            GlobalSecondaryIndexes: [
              {
                IndexName: 'by-node',
                KeySchema: keySchema(['poolNode', 'taskId']),
                Projection: { ProjectionType: 'KEYS_ONLY' },
              },
              {
                IndexName: 'by-service',
                KeySchema: keySchema(['serviceId', 'taskId']),
                Projection: { ProjectionType: 'KEYS_ONLY' },
              },
            ],
          }
        : {}),
    });
  });

  test('plan queue: FIFO in high-throughput mode, six time-outs of visibility, a day of retention, five receives', () => {
    expect(state.Resources.PlanQueue?.Properties).toEqual({
      QueueName: 'Berth-plans.fifo',
      FifoQueue: true,
      ContentBasedDeduplication: false,
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
      VisibilityTimeout: 180,
      MessageRetentionPeriod: 86_400,
      RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': ['PlanDeadLetterQueue', 'Arn'] }, maxReceiveCount: 15 },
      SqsManagedSseEnabled: true,
    });
  });

  test('dead-letter queue: FIFO as its source, 14 days', () => {
    expect(state.Resources.PlanDeadLetterQueue?.Properties).toEqual({
      QueueName: 'Berth-plans-dead.fifo',
      FifoQueue: true,
      ContentBasedDeduplication: false,
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
      MessageRetentionPeriod: 1_209_600,
      SqsManagedSseEnabled: true,
    });
  });

  test('quarantine queue: standard, 14 days', () => {
    expect(state.Resources.QuarantineQueue?.Properties).toEqual({
      QueueName: 'Berth-quarantine',
      MessageRetentionPeriod: 1_209_600,
      SqsManagedSseEnabled: true,
    });
  });

  test.each(['PlanQueue', 'PlanDeadLetterQueue', 'QuarantineQueue'])('%s refuses plain HTTP', (queue) => {
    expect(state.Resources[`${queue}Policy`]?.Properties).toEqual({
      Queues: [{ Ref: queue }],
      PolicyDocument: {
        Version: '2012-10-17',
        Statement: [
          {
            Effect: 'Deny',
            Principal: { AWS: '*' },
            Action: 'sqs:*',
            Resource: { 'Fn::GetAtt': [queue, 'Arn'] },
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          },
        ],
      },
    });
  });
});

describe('the plan applier', () => {
  test('function: runtime, limits, tracing, environment', () => {
    const { Code, LoggingConfig, Role, ...rest } = theOnly(functions, 'AWS::Lambda::Function').Properties;
    expect(rest).toEqual({
      Description: 'Berth: applies the plans of the plan queue',
      Handler: 'index.handler',
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      MemorySize: 1024,
      Timeout: 30,
      TracingConfig: { Mode: 'Active' },
      Environment: {
        Variables: {
          BERTH_TABLE_NODES: 'Berth-Nodes',
          BERTH_TABLE_TASKS: 'Berth-Tasks',
          BERTH_TABLE_PLANS: 'Berth-Plans',
          BERTH_TABLE_REJECTIONS: 'Berth-Rejections',
          BERTH_TABLE_POOLS: 'Berth-Pools',
          BERTH_QUEUE_PLANS: {
            'Fn::Join': [
              '',
              [
                'https://sqs.',
                { Ref: 'AWS::Region' },
                '.',
                { Ref: 'AWS::URLSuffix' },
                '/',
                { Ref: 'AWS::AccountId' },
                '/Berth-plans.fifo',
              ],
            ],
          },
          BERTH_QUEUE_QUARANTINE: {
            'Fn::Join': [
              '',
              [
                'https://sqs.',
                { Ref: 'AWS::Region' },
                '.',
                { Ref: 'AWS::URLSuffix' },
                '/',
                { Ref: 'AWS::AccountId' },
                '/Berth-quarantine',
              ],
            ],
          },
          BERTH_EVENT_BUS: 'Berth',
          POWERTOOLS_SERVICE_NAME: 'plan-applier',
          POWERTOOLS_METRICS_NAMESPACE: 'Berth',
        },
      },
    });
    const [roleId] = byType(functions, 'AWS::IAM::Role')[0] ?? [];
    expect(Role).toEqual({ 'Fn::GetAtt': [roleId, 'Arn'] });
    const [logGroupId, logGroup] = byType(functions, 'AWS::Logs::LogGroup')[0] ?? [];
    expect(LoggingConfig).toEqual({ LogGroup: { Ref: logGroupId } });
    expect(logGroup?.Properties).toEqual({ RetentionInDays: 30 });
    expect(logGroup?.DeletionPolicy).toBe('Delete');
  });

  test('event source: batches of ten of the plan queue, partial failures reported, no window, no filter', () => {
    const [functionId] = byType(functions, 'AWS::Lambda::Function')[0] ?? [];
    expect(theOnly(functions, 'AWS::Lambda::EventSourceMapping').Properties).toEqual({
      EventSourceArn: sqsArn('Berth-plans.fifo'),
      FunctionName: { Ref: functionId },
      BatchSize: 10,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      MetricsConfig: { Metrics: ['EventCount'] },
    });
  });

  test('role: exactly these permissions', () => {
    const [logGroupId] = byType(functions, 'AWS::Logs::LogGroup')[0] ?? [];
    expect(theOnly(functions, 'AWS::IAM::Role').Properties).toEqual({
      Description: 'Berth: what the plan applier may do',
      AssumeRolePolicyDocument: {
        Version: '2012-10-17',
        Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } }],
      },
      Policies: [
        {
          PolicyName: 'PlanApplier',
          PolicyDocument: {
            Version: '2012-10-17',
            Statement: [
              {
                Sid: 'Pools',
                Effect: 'Allow',
                Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
                Resource: tableArn('Berth-Pools'),
              },
              {
                Sid: 'Nodes',
                Effect: 'Allow',
                Action: ['dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
                Resource: tableArn('Berth-Nodes'),
              },
              {
                Sid: 'Tasks',
                Effect: 'Allow',
                Action: ['dynamodb:BatchGetItem', 'dynamodb:DeleteItem', 'dynamodb:PutItem'],
                Resource: tableArn('Berth-Tasks'),
              },
              {
                Sid: 'Plans',
                Effect: 'Allow',
                Action: ['dynamodb:BatchGetItem', 'dynamodb:PutItem'],
                Resource: tableArn('Berth-Plans'),
              },
              {
                Sid: 'Rejections',
                Effect: 'Allow',
                Action: ['dynamodb:BatchGetItem', 'dynamodb:PutItem'],
                Resource: tableArn('Berth-Rejections'),
              },
              {
                Sid: 'ReceivePlans',
                Effect: 'Allow',
                Action: [
                  'sqs:ChangeMessageVisibility',
                  'sqs:DeleteMessage',
                  'sqs:GetQueueAttributes',
                  'sqs:ReceiveMessage',
                ],
                Resource: sqsArn('Berth-plans.fifo'),
              },
              { Sid: 'Quarantine', Effect: 'Allow', Action: 'sqs:SendMessage', Resource: sqsArn('Berth-quarantine') },
              { Sid: 'Events', Effect: 'Allow', Action: 'events:PutEvents', Resource: eventBusArn('Berth') },
              {
                Sid: 'Logs',
                Effect: 'Allow',
                Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
                Resource: { 'Fn::GetAtt': [logGroupId, 'Arn'] },
              },
              {
                Sid: 'Traces',
                Effect: 'Allow',
                Action: ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'],
                Resource: '*',
              },
            ],
          },
        },
      ],
    });
    // Nothing beside the role's own policies: no managed policy above, no policy attached from outside.
    expect(byType(functions, 'AWS::IAM::Policy')).toEqual([]);
    expect(byType(functions, 'AWS::IAM::ManagedPolicy')).toEqual([]);
  });

  test('bundle: one ES module of at most 500 KiB that needs nothing but Node', () => {
    const assets = readdirSync(outdir).filter((name) => name.startsWith('asset.'));
    expect(assets).toHaveLength(1);
    const asset = join(outdir, assets[0] as string);
    expect(readdirSync(asset).toSorted()).toEqual(['index.mjs', 'index.mjs.map']);
    const { Code } = theOnly(functions, 'AWS::Lambda::Function').Properties as { Code: { S3Key: string } };
    expect(`asset.${Code.S3Key}`).toBe(`${assets[0]}.zip`);

    const bundle = readFileSync(join(asset, 'index.mjs'), 'utf8');
    const imported = [...bundle.matchAll(/\bfrom\s*["']([^"']+)["']/g)].map(([, name]) =>
      (name as string).replace(/^node:/, ''),
    );
    expect(imported).toContain('module');
    expect(imported.filter((name) => !builtinModules.includes(name))).toEqual([]);
    expect(bundle).toMatch(/export\s*\{[^}]*\bas handler\b[^}]*\}/);
    // A slip of one import (`z.core` of zod, say) adds 400 KB, and a cold start pays for each.
    expect(bundle.length).toBeLessThanOrEqual(500 * 1024);
    expect(JSON.parse(readFileSync(join(asset, 'index.mjs.map'), 'utf8')).sourcesContent).toBeUndefined();
  });
});

describe('alarms and dashboard', () => {
  test('four alarms, quiet while there is no data', () => {
    const [functionId] = byType(functions, 'AWS::Lambda::Function')[0] ?? [];
    const common = {
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      Period: 60,
      TreatMissingData: 'notBreaching',
      AlarmDescription: expect.stringMatching(/\.$/),
    };
    expect(byType(functions, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties)).toEqual([
      {
        ...common,
        Namespace: 'AWS/SQS',
        MetricName: 'ApproximateNumberOfMessagesVisible',
        Dimensions: [{ Name: 'QueueName', Value: 'Berth-plans-dead.fifo' }],
        Statistic: 'Maximum',
        Threshold: 1,
        EvaluationPeriods: 1,
      },
      {
        ...common,
        Namespace: 'AWS/SQS',
        MetricName: 'ApproximateNumberOfMessagesVisible',
        Dimensions: [{ Name: 'QueueName', Value: 'Berth-quarantine' }],
        Statistic: 'Maximum',
        Threshold: 1,
        EvaluationPeriods: 1,
      },
      {
        ...common,
        Namespace: 'AWS/Lambda',
        MetricName: 'Errors',
        Dimensions: [{ Name: 'FunctionName', Value: { Ref: functionId } }],
        Statistic: 'Sum',
        Threshold: 1,
        EvaluationPeriods: 1,
      },
      {
        ...common,
        Namespace: 'AWS/SQS',
        MetricName: 'ApproximateAgeOfOldestMessage',
        Dimensions: [{ Name: 'QueueName', Value: 'Berth-plans.fifo' }],
        Statistic: 'Maximum',
        Threshold: 360,
        EvaluationPeriods: 3,
      },
    ]);
    expect(theOnly(functions, 'AWS::CloudWatch::Dashboard').Properties.DashboardName).toBe('Berth');
  });
});

describe('the two stacks', () => {
  test('are joined by names alone: no export, no import, and the state stack comes first', () => {
    expect(JSON.stringify([state, functions])).not.toMatch(/Fn::ImportValue|Fn::GetStackOutput|"Export"/);
    const { artifacts } = JSON.parse(readFileSync(join(outdir, 'manifest.json'), 'utf8'));
    expect(artifacts.BerthFunctions.dependencies).toContain('BerthState');
  });

  test('agree: every table and queue that the functions name is in the state stack', () => {
    const existing = Object.values(state.Resources).map(({ Properties: p }) => p.TableName ?? p.QueueName);
    const named = new Set(JSON.stringify(functions).match(/Berth-[\w.-]+/g));
    expect(named.size).toBeGreaterThanOrEqual(8);
    expect([...named].filter((name) => !existing.includes(name))).toEqual([]);
  });

  test('tell workers what they need in outputs', () => {
    expect(state.Outputs).toMatchObject({
      NodesTableName: { Description: 'BERTH_TABLE_NODES', Value: { Ref: 'Nodes' } },
      TasksStreamArn: { Value: { 'Fn::GetAtt': ['Tasks', 'StreamArn'] } },
      PlanQueueUrl: { Description: 'BERTH_QUEUE_PLANS', Value: { Ref: 'PlanQueue' } },
      QuarantineQueueUrl: { Description: 'BERTH_QUEUE_QUARANTINE', Value: { Ref: 'QuarantineQueue' } },
    });
  });

  test('nothing is found by cdk-nag or by the rules of CloudFormation', () => {
    const report = JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8'));
    expect(report.pluginReports).toEqual([]);
  });
});

/** An app of its own, without bundling. Its directory is named, since CDK would leave a temporary one behind. */
function quickApp(props: BerthAppProps): App {
  const context = { 'aws:cdk:bundling-stacks': [], ...props.context };
  return berthApp({ ...props, context, outdir: mkdtempSync(join(scratch, 'quick-')) });
}

function stackOf(app: App, name: string): Stack {
  return app.node.findChild(name) as Stack;
}

describe('berthApp', () => {
  test('refuses settings under which a plan could take effect twice', () => {
    expect(() => quickApp({ settings: { queues: { planRetentionSeconds: 3 * 86_400 } } })).toThrow(
      /RESULTS\.retentionSeconds is 1382400, but a message can live 1728000 s[\s\S]*raise RESULTS\.retentionSeconds/,
    );
  });

  test('stops a synth in which cdk-nag finds something', () => {
    const app = quickApp({});
    new Queue(stackOf(app, 'BerthFunctions'), 'Plain');
    expect(() => app.synth()).toThrow(/AwsSolutions-SQS4/);
  });

  test('a prefix tells two Berths apart and moves no logical id', () => {
    const app = quickApp({ context: { prefix: 'Staging' }, checks: false });
    const staging = Template.fromStack(stackOf(app, 'StagingState')).toJSON();
    const stagingFunctions = Template.fromStack(stackOf(app, 'StagingFunctions')).toJSON();
    expect(JSON.parse(JSON.stringify(staging).replaceAll('"Staging', '"Berth'))).toEqual(
      JSON.parse(JSON.stringify(state)),
    );
    expect(JSON.stringify(stagingFunctions)).not.toMatch(/Berth-/);
    expect(Object.keys(stagingFunctions.Resources)).toEqual(Object.keys(functions.Resources));
  });

  test.each(['', '1st', 'a_b', 'x'.repeat(33), 7])('refuses the prefix %j', (prefix) => {
    expect(() => quickApp({ context: { prefix } })).toThrow(/context value prefix is .*-c prefix=Staging/);
  });

  test('an alarm topic is told when an alarm goes off and when it is over', () => {
    const topic = 'arn:aws:sns:eu-central-1:123456789012:alarms';
    const app = quickApp({ context: { alarmTopicArn: topic }, checks: false });
    const alarms = Template.fromStack(stackOf(app, 'BerthFunctions')).findResources('AWS::CloudWatch::Alarm');
    expect(Object.values(alarms)).toHaveLength(4);
    for (const { Properties } of Object.values(alarms)) {
      expect(Properties).toMatchObject({ AlarmActions: [topic], OKActions: [topic] });
    }
  });

  test('refuses an alarm topic that is none', () => {
    expect(() => quickApp({ context: { alarmTopicArn: 'alarms' } })).toThrow(
      /context value alarmTopicArn is "alarms".*ARN of an SNS topic/,
    );
  });
});

test('cdk.json sets every recommended flag, so that none can rename or replace something later', () => {
  const recommended = createRequire(import.meta.url)('aws-cdk-lib/recommended-feature-flags.json');
  expect(cdkJson.context).toEqual(recommended);
});

function keySchema(names: readonly string[]): unknown {
  return names.map((name, position) => ({ AttributeName: name, KeyType: position === 0 ? 'HASH' : 'RANGE' }));
}

function tableArn(name: string): unknown {
  return arn('dynamodb', `table/${name}`);
}

function eventBusArn(name: string): unknown {
  return arn('events', `event-bus/${name}`);
}

function sqsArn(name: string): unknown {
  return arn('sqs', name);
}

function arn(service: string, resource: string): unknown {
  const parts = [
    'arn:',
    { Ref: 'AWS::Partition' },
    `:${service}:`,
    { Ref: 'AWS::Region' },
    ':',
    { Ref: 'AWS::AccountId' },
  ];
  return { 'Fn::Join': ['', [...parts, `:${resource}`]] };
}
