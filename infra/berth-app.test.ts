import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import cdkJson from '../cdk.json' with { type: 'json' };
import { byType, type TemplateJson } from '../test/support/synthesized.ts';
import { type BerthAppProps, berthApp } from './berth-app.ts';

// Expectations are written out, not computed from lib/: a slip there must show here.

const scratch = mkdtempSync(join(tmpdir(), 'berth-synth-'));
const outdir = join(scratch, 'whole');
const CLUSTERS = [{ name: 'game', region: 'eu-central-1', autoScalingGroups: ['metal'] }];
let state: TemplateJson;
let functions: TemplateJson;

/** One synth for all, with bundling, cdk-nag and CloudFormation's own rules, of everything there is. */
beforeAll(() => {
  const assembly = berthApp({ outdir, context: { clusters: CLUSTERS } }).synth();
  state = assembly.getStackByName('BerthState').template;
  functions = assembly.getStackByName('BerthFunctions').template;
});

afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

/** Each artifact of the assembly by its name. */
const artifacts = () => JSON.parse(readFileSync(join(outdir, 'manifest.json'), 'utf8')).artifacts;

describe('the functions stack', () => {
  test('holds nothing but functions, what belongs to one, alarms and the dashboard', () => {
    const counts: Record<string, number> = {};
    for (const { Type } of Object.values(functions.Resources)) counts[Type] = (counts[Type] ?? 0) + 1;
    expect(counts).toEqual({
      'AWS::Lambda::Function': 4,
      'AWS::Lambda::EventSourceMapping': 3,
      'AWS::Lambda::EventInvokeConfig': 1,
      // One a function, and one a schedule. No policy beside a role's own, managed or attached from outside.
      'AWS::IAM::Role': 6,
      'AWS::Logs::LogGroup': 4,
      'AWS::Scheduler::Schedule': 2,
      'AWS::CloudWatch::Alarm': 10,
      'AWS::CloudWatch::Dashboard': 1,
    });
  });

  /** The size of each bundle at most, KiB: that of the scaler holds clients of EKS, Auto Scaling, Kubernetes and of hooks. */
  const BUNDLES: readonly [string, number][] = [
    ['PlanApplier', 500],
    ['TaskReaper', 500],
    ['TaskSweeper', 500],
    ['NodeScaler', 2.2 * 1024],
  ];
  const FUNCTIONS = BUNDLES.map(([name]) => name);

  test('has one bundle for each function', () => {
    const assets = readdirSync(outdir).filter((name) => name.startsWith('asset.'));
    expect(assets.toSorted()).toEqual(FUNCTIONS.map(assetOf).toSorted());
  });

  test.each(BUNDLES)('bundle of %s: one ES module of at most %d KiB that needs nothing but Node', (name, most) => {
    const asset = join(outdir, assetOf(name));
    expect(readdirSync(asset).toSorted()).toEqual(['index.mjs', 'index.mjs.map']);
    const bundle = readFileSync(join(asset, 'index.mjs'), 'utf8');
    const imported = [...bundle.matchAll(/\bfrom\s*["']([^"']+)["']/g)].map(([, name]) =>
      (name as string).replace(/^node:/, ''),
    );
    expect(imported).toContain('module');
    expect(imported.filter((name) => !builtinModules.includes(name))).toEqual([]);
    expect(bundle).toMatch(/export\s*\{[^}]*\bas handler\b[^}]*\}/);
    // A slip of one import (`z.core` of zod, say) adds 400 KB, and a cold start pays for each.
    expect(bundle.length).toBeLessThanOrEqual(most * 1024);
    expect(JSON.parse(readFileSync(join(asset, 'index.mjs.map'), 'utf8')).sourcesContent).toBeUndefined();
  });

  test.each(FUNCTIONS)(
    'bundle of %s: credentials come from the environment, and nothing searches for others',
    (name) => {
      const bundle = readFileSync(join(outdir, assetOf(name), 'index.mjs'), 'utf8');
      // Words that the SDK's search cannot do without: of sign-ons, profiles, containers, web identities and machines.
      const SEARCH = [
        'sso_session',
        'credential_process',
        'AWS_CONTAINER_CREDENTIALS_',
        'AWS_WEB_IDENTITY_TOKEN_FILE',
        'latest/meta-data/iam/security-credentials',
      ];
      expect(SEARCH.filter((word) => bundle.includes(word))).toEqual([]);
      expect(bundle).toContain('AWS_ACCESS_KEY_ID');
    },
  );
});

describe('the two stacks', () => {
  test("are joined by names, but for the stream's ARN, which no name tells; and the state stack comes first", () => {
    const text = JSON.stringify([state, functions]);
    expect(text).not.toContain('Fn::GetStackOutput');
    // Whatever is imported is locked in the state stack: each one more is to be thought about.
    expect(new Set(text.match(/"Fn::ImportValue":"[^"]*"/g))).toEqual(
      new Set(['"Fn::ImportValue":"Berth-TasksStreamArn"']),
    );
    expect(text.match(/"Export":\{[^}]*\}/g)).toEqual(['"Export":{"Name":"Berth-TasksStreamArn"}']);
    expect(artifacts().BerthFunctions.dependencies).toContain('BerthState');
  });

  test('agree: every table and queue that the functions name is in the state stack', () => {
    const existing = Object.values(state.Resources).map(({ Properties: p }) => p.TableName ?? p.QueueName);
    const named = new Set(JSON.stringify(functions).match(/Berth-[\w.-]+/g));
    named.delete('Berth-TasksStreamArn');
    expect([...named].toSorted()).toEqual([
      'Berth-Nodes',
      'Berth-Plans',
      'Berth-Pools',
      'Berth-Rejections',
      'Berth-Scaler',
      'Berth-Services',
      'Berth-Tasks',
      'Berth-plans-dead.fifo',
      'Berth-plans.fifo',
      'Berth-quarantine',
      'Berth-reaper-failures',
      'Berth-sweep',
    ]);
    expect([...named].filter((name) => !existing.includes(name))).toEqual([]);
  });

  test('differ in what becomes of them: the state stack refuses to be deleted', () => {
    expect(artifacts().BerthState.properties.terminationProtection).toBe(true);
    expect(artifacts().BerthFunctions.properties.terminationProtection ?? false).toBe(false);
  });

  test('nothing is found by cdk-nag or by the rules of CloudFormation', () => {
    const report = JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8'));
    expect(report.pluginReports).toEqual([]);
  });
});

/** The directory of a function's bundle in the assembly. */
function assetOf(construct: string): string {
  const [[, found] = []] = byType(functions, 'AWS::Lambda::Function').filter(([id]) => id.startsWith(construct));
  const { S3Key } = (found?.Properties.Code ?? {}) as { S3Key?: string };
  if (S3Key === undefined) throw new Error(`there is no function of ${construct} with a bundle`);
  return `asset.${S3Key.replace(/\.zip$/, '')}`;
}

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
    const app = quickApp({ context: { prefix: 'Staging', clusters: CLUSTERS }, checks: false });
    const staging = Template.fromStack(stackOf(app, 'StagingState')).toJSON();
    const stagingFunctions = Template.fromStack(stackOf(app, 'StagingFunctions')).toJSON();
    expect(JSON.parse(JSON.stringify(staging).replaceAll('"Staging', '"Berth'))).toEqual(
      JSON.parse(JSON.stringify(state)),
    );
    expect(JSON.stringify(stagingFunctions)).not.toMatch(/"Berth"|Berth-/);
    expect(Object.keys(stagingFunctions.Resources)).toEqual(Object.keys(functions.Resources));
  });

  test.each(['', '1st', 'a_b', 'x'.repeat(33), 7])('refuses the prefix %j', (prefix) => {
    expect(() => quickApp({ context: { prefix } })).toThrow(/context value prefix is .*-c prefix=Staging/);
  });

  test('refuses an alarm topic that is none', () => {
    expect(() => quickApp({ context: { alarmTopicArn: 'alarms' } })).toThrow(
      /context value alarmTopicArn is "alarms".*ARN of an SNS topic/,
    );
  });
});

describe('context', () => {
  test.each([
    ['cluster', 'clusters'],
    ['Prefix', 'prefix'],
    ['alarmTopic', 'alarmTopicArn'],
    ['scaler-vpc', 'scalerVpc'],
    ['perfix', 'prefix'],
  ])('that nothing would read stops the synth, and the key that was meant is named: %s', (key, meant) => {
    expect(() => quickApp({ context: { [key]: 'x' } })).toThrow(
      `context value ${key} is none that Berth knows, and would have no effect: did you mean ${meant}? ` +
        'There are prefix, alarmTopicArn, clusters, scalerVpc.',
    );
  });

  test('that is like none of those there are is not taken for one of them, and each is told', () => {
    const context = { stage: 'prod', 'a b': 1, prefix: 'Staging' };
    expect(() => quickApp({ context })).toThrow(
      /^these settings cannot be deployed:\n {2}- context value stage [^\n?]*: There are [^\n?]*\n {2}- context value a b [^\n?]*$/,
    );
  });

  test("of CDK's own passes: flags, lookups, and what its command line keeps there", () => {
    const context = {
      '@aws-cdk/core:bootstrapQualifier': 'hnb659fds',
      'aws:cdk:enable-path-metadata': true,
      'aws:cdk:version-reporting': true,
      'aws-cdk:enableDiffNoFail': 'true',
      'availability-zones:account=123456789012:region=eu-central-1': ['eu-central-1a'],
      'ssm:account=123456789012:parameterName=/x:region=eu-central-1': 'ami-1',
      'acknowledged-issue-numbers': [19836],
      'cli-telemetry': false,
    };
    expect(stackOf(quickApp({ context, checks: false }), 'BerthState').stackName).toBe('BerthState');
  });
});

test('cdk.json sets every recommended flag, so that none can rename or replace something later', () => {
  const recommended = createRequire(import.meta.url)('aws-cdk-lib/recommended-feature-flags.json');
  expect(cdkJson.context).toEqual(recommended);
});
