import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { testFunction, writeAssembly } from '../test-assembly.ts';
import { readCloudAssembly } from './cloud-assembly.ts';
import { declaredFunctions } from './functions.ts';
import { defineRoles } from './roles.ts';
import { declaredSchedules } from './schedules.ts';
import { Resources } from './scope.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-template-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

const NOW = Date.parse('2026-11-27T00:00Z') as EpochMs;
const LAMBDA = { Arn: { 'Fn::GetAtt': ['Fn', 'Arn'] }, RoleArn: { 'Fn::GetAtt': ['RoleABCDEF01', 'Arn'] } };

function scheduleOf(properties: Record<string, unknown>) {
  const given = { ScheduleExpression: 'rate(1 day)', FlexibleTimeWindow: { Mode: 'OFF' }, Target: LAMBDA };
  const assembly = writeAssembly(
    directory,
    {
      S: {
        Resources: {
          RoleABCDEF01: { Type: 'AWS::IAM::Role', Properties: {} },
          Group: { Type: 'AWS::Scheduler::ScheduleGroup', Properties: { Name: 'group' } },
          Fn: testFunction('one'),
          DailyABCDEF01: { Type: 'AWS::Scheduler::Schedule', Properties: { ...given, ...properties } },
        },
        Outputs: { Arn: { Value: { 'Fn::GetAtt': ['DailyABCDEF01', 'Arn'] }, Description: 'ARN' } },
      },
    },
    { one: '' },
  );
  const resources = new Resources(readCloudAssembly(assembly), { region: 'eu-central-1', account: '123456789012' });
  defineRoles(resources);
  declaredFunctions(resources);
  const [schedule] = declaredSchedules(resources, NOW);
  return { ...schedule, exported: resources.environmentOutputs().ARN };
}

describe('schedules', () => {
  test('have the defaults of the scheduler', () => {
    const arn = 'arn:aws:scheduler:eu-central-1:123456789012:schedule/default/S-Daily';
    const schedule = scheduleOf({});
    expect(schedule).toMatchObject({
      name: 'S-Daily',
      arn,
      exported: arn,
      enabled: true,
      targetArn: 'arn:aws:lambda:eu-central-1:123456789012:function:Fn',
      input: undefined,
      maximumRetries: 185,
      deadLetterArn: undefined,
    });
    expect(schedule.recurrence?.next(NOW)).toBe(NOW + 86_400_000);
  });

  test('say what, where and when', () => {
    const properties = {
      Name: 'daily',
      GroupName: { Ref: 'Group' },
      Description: 'Every day',
      ScheduleExpression: 'cron(0 3 * * ? *)',
      ScheduleExpressionTimezone: 'Europe/Berlin',
      State: 'DISABLED',
      Target: {
        Arn: 'arn:aws:sqs:eu-central-1:123456789012:q.fifo',
        RoleArn: 'arn',
        Input: 'text',
        SqsParameters: { MessageGroupId: 'g' },
        RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
        DeadLetterConfig: { Arn: 'arn:aws:sqs:eu-central-1:123456789012:dead' },
      },
    };
    const schedule = scheduleOf(properties);
    expect(schedule).toMatchObject({
      arn: 'arn:aws:scheduler:eu-central-1:123456789012:schedule/group/daily',
      enabled: false,
      input: 'text',
      messageGroupId: 'g',
      maximumRetries: 0,
      deadLetterArn: 'arn:aws:sqs:eu-central-1:123456789012:dead',
    });
    expect(schedule.recurrence?.next(NOW)).toBe(Date.parse('2026-11-27T02:00Z'));
  });

  test.each([
    [
      { ScheduleExpression: 'cron(0 3 * * *)' },
      'S/DailyABCDEF01: ScheduleExpression: cron(0 3 * * *): expected six fields',
    ],
    [{ ScheduleExpressionTimezone: 'Nowhere/X', ScheduleExpression: 'cron(0 3 * * ? *)' }, 'Nowhere/X'],
    [{ FlexibleTimeWindow: { Mode: 'FLEXIBLE' } }, 'the local engine knows OFF alone'],
    [{ StartDate: '2027-01-01T00:00:00Z' }, 'StartDate is not supported by the local engine'],
    [{ Target: { ...LAMBDA, Input: 'text' } }, 'Target.Input is no JSON, as a function takes it: text'],
    [{ Target: { ...LAMBDA, EcsParameters: {} } }, 'Target.EcsParameters is not supported by the local engine'],
    [{ Target: { ...LAMBDA, RetryPolicy: { MaximumRetryAttempts: 186 } } }, 'expected a whole number from 0 to 185'],
  ])('with %j are refused', (properties, message) => {
    expect(() => scheduleOf(properties)).toThrow(message);
  });
});
