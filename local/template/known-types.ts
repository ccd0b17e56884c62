import type { Stack } from './cloud-assembly.ts';
import { TemplateError } from './scope.ts';

/** Types that the engine makes something of, each in the file of its name. */
const USED: ReadonlySet<string> = new Set([
  'AWS::DynamoDB::Table',
  'AWS::DynamoDB::GlobalTable',
  'AWS::SQS::Queue',
  'AWS::Lambda::Function',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Lambda::EventSourceMapping',
  'AWS::Events::EventBus',
  'AWS::IAM::Role',
  'AWS::Scheduler::Schedule',
  'AWS::Scheduler::ScheduleGroup',
]);

/** Types that make no difference on one machine: who may do what, where logs go, what is watched. */
const IGNORED: ReadonlySet<string> = new Set([
  'AWS::CDK::Metadata',
  'AWS::CloudWatch::Alarm',
  'AWS::CloudWatch::CompositeAlarm',
  'AWS::CloudWatch::Dashboard',
  'AWS::IAM::ManagedPolicy',
  'AWS::IAM::Policy',
  'AWS::Lambda::Permission',
  'AWS::Logs::LogGroup',
  'AWS::Logs::MetricFilter',
  'AWS::SQS::QueuePolicy',
]);

/**
 * Refuses a template with a resource that would be missing here without a word.
 *
 * @throws TemplateError
 */
export function checkTypes(stacks: readonly Stack[]): void {
  for (const stack of stacks) {
    for (const [logicalId, { Type }] of Object.entries(stack.resources)) {
      if (USED.has(Type) || IGNORED.has(Type)) continue;
      throw new TemplateError(
        `${stack.name}/${logicalId}: the local engine has nothing for the type ${Type}; build it, or list the type as ` +
          'one that makes no difference here, in local/template/known-types.ts',
      );
    }
  }
}
