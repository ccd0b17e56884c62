import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AwsSolutionsChecks } from 'cdk-nag';
import type { IConstruct } from 'constructs';
import { afterAll, expect, test, vi } from 'vitest';
import { berthApp } from './berth-app.ts';

const acknowledged = vi.hoisted((): { at: string; id: string; reason: string }[] => []);

// Written down instead of acknowledged, so that cdk-nag reports every finding there is.
vi.mock('./acknowledge.ts', () => ({
  acknowledge: (construct: IConstruct, { id, reason }: { id: string; reason: string }) => {
    acknowledged.push({ at: construct.node.path, id, reason });
  },
}));

const outdir = mkdtempSync(join(tmpdir(), 'berth-nag-'));

afterAll(() => {
  rmSync(outdir, { recursive: true, force: true });
});

test('cdk-nag finds what is acknowledged, with a reason, and nothing else', () => {
  const clusters = [
    { name: 'game', region: 'eu-central-1', autoScalingGroups: ['metal'] },
    { name: 'other', region: 'eu-west-1', roleArn: 'arn:aws:iam::111122223333:role/x' },
  ];
  const scalerVpc = { subnetIds: ['subnet-0a1b2c3d'], securityGroupIds: ['sg-0a1b2c3d'] };
  const app = berthApp({ outdir, context: { clusters, scalerVpc, 'aws:cdk:bundling-stacks': [] } });
  const report = new AwsSolutionsChecks(app).validateScope(app);
  const found = report.violations.flatMap(({ ruleName, violatingResources }) =>
    violatingResources.map(({ constructPath }) => `${constructPath} ${ruleName}`),
  );
  expect(found.toSorted()).toEqual([
    'BerthFunctions/NodeScaler/Scaler/Role/Resource AwsSolutions-IAM5[Resource::*]',
    'BerthFunctions/NodeScaler/Scaler/Role/Resource AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:autoscaling:eu-central-1:<AWS::AccountId>:autoScalingGroup:*:autoScalingGroupName/*]',
    'BerthFunctions/NodeScaler/Scaler/Role/Resource AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:autoscaling:eu-central-1:<AWS::AccountId>:autoScalingGroup:*:autoScalingGroupName/metal]',
    'BerthFunctions/NodeScaler/Scaler/Role/Resource AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:eks:eu-central-1:<AWS::AccountId>:nodegroup/game/*/*]',
    'BerthFunctions/PlanApplier/Applier/Role/Resource AwsSolutions-IAM5[Resource::*]',
    'BerthFunctions/TaskReaper/Reaper/Role/Resource AwsSolutions-IAM5[Resource::*]',
    'BerthFunctions/TaskReaper/Reaper/Role/Resource AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:dynamodb:<AWS::Region>:<AWS::AccountId>:table/Berth-Tasks/stream/*]',
    'BerthFunctions/TaskSweeper/Sweeper/Role/Resource AwsSolutions-IAM5[Resource::*]',
    'BerthState/QuarantineQueue/Resource AwsSolutions-SQS3',
  ]);
  expect(acknowledged.map(({ at, id }) => `${at}/Resource ${id}`).toSorted()).toEqual(found.toSorted());
  for (const { reason } of acknowledged) {
    expect(reason).toMatch(/\w{3,} .*\.$/);
  }
});
