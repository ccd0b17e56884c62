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
  const app = berthApp({ outdir, context: { 'aws:cdk:bundling-stacks': [] } });
  const report = new AwsSolutionsChecks(app).validateScope(app);
  const found = report.violations.flatMap(({ ruleName, violatingResources }) =>
    violatingResources.map(({ constructPath }) => `${constructPath} ${ruleName}`),
  );
  expect(found.toSorted()).toEqual([
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
