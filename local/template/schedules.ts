import * as z from 'zod/mini';
import type { EpochMs } from '../../lib/time.ts';
import {
  compileScheduleExpression,
  type Recurrence,
  ScheduleExpressionError,
} from '../event-sources/schedule-expression.ts';
import { type Declared, type Resources, TemplateError, withoutHash } from './scope.ts';
import { whole } from './whole.ts';

/** A schedule as the template declares it. */
export interface DeclaredSchedule {
  readonly declared: Declared;
  readonly name: string;
  readonly arn: string;
  readonly recurrence: Recurrence;
  readonly enabled: boolean;
  /** ARN of a function or a queue. */
  readonly targetArn: string;
  /** What the target gets, context attributes not replaced; undefined: the scheduler's own event. */
  readonly input?: string | undefined;
  /** Of a FIFO queue. */
  readonly messageGroupId?: string | undefined;
  /** Deliveries after the first of one run. */
  readonly maximumRetries: number;
  /** ARN of the queue for what could not be delivered. */
  readonly deadLetterArn?: string | undefined;
}

/** With the bounds and defaults of `CreateSchedule`. */
const properties = z.strictObject({
  Name: z.optional(z.string()),
  GroupName: z._default(z.string(), 'default'),
  ScheduleExpression: z.string(),
  ScheduleExpressionTimezone: z._default(z.string(), 'UTC'),
  FlexibleTimeWindow: z.strictObject({ Mode: z.literal('OFF', 'the local engine knows OFF alone') }),
  State: z._default(z.enum(['ENABLED', 'DISABLED'], 'expected ENABLED or DISABLED'), 'ENABLED'),
  Target: z.strictObject({
    Arn: z.string(),
    RoleArn: z.string(),
    Input: z.optional(z.string()),
    SqsParameters: z.optional(z.strictObject({ MessageGroupId: z.optional(z.string()) })),
    RetryPolicy: z._default(
      z.strictObject({
        MaximumRetryAttempts: z._default(whole(0, 185), 185),
        MaximumEventAgeInSeconds: z._default(whole(60, 86_400), 86_400),
      }),
      { MaximumRetryAttempts: 185, MaximumEventAgeInSeconds: 86_400 },
    ),
    DeadLetterConfig: z.optional(z.strictObject({ Arn: z.optional(z.string()) })),
  }),
});

const IGNORED = ['ActionAfterCompletion', 'Description', 'KmsKeyArn'];

/**
 * The schedules of the template. Defines their `Ref` and `Arn`, and those of their groups.
 *
 * @param now `rate` counts from here on
 * @throws TemplateError
 */
export function declaredSchedules(resources: Resources, now: EpochMs): DeclaredSchedule[] {
  for (const declared of resources.ofType('AWS::Scheduler::ScheduleGroup')) {
    const name = nameOf(declared);
    resources.define(declared, { ref: name, attributes: { Arn: arnOf(resources, `schedule-group/${name}`) } });
  }
  return resources.ofType('AWS::Scheduler::Schedule').map((declared) => {
    const it = resources.properties(declared, properties, IGNORED);
    const name = nameOf(declared);
    const arn = arnOf(resources, `schedule/${it.GroupName}/${name}`);
    resources.define(declared, { ref: name, attributes: { Arn: arn } });
    checkInput(declared, it.Target.Arn, it.Target.Input);
    return {
      declared,
      name,
      arn,
      recurrence: recurrenceOf(declared, it.ScheduleExpression, it.ScheduleExpressionTimezone, now),
      enabled: it.State === 'ENABLED',
      targetArn: it.Target.Arn,
      input: it.Target.Input,
      messageGroupId: it.Target.SqsParameters?.MessageGroupId,
      maximumRetries: it.Target.RetryPolicy.MaximumRetryAttempts,
      deadLetterArn: it.Target.DeadLetterConfig?.Arn,
    };
  });
}

function recurrenceOf({ stack, logicalId }: Declared, expression: string, zone: string, now: EpochMs): Recurrence {
  try {
    return compileScheduleExpression(expression, zone, now);
  } catch (error) {
    if (!(error instanceof ScheduleExpressionError)) throw error;
    throw new TemplateError(`${stack.name}/${logicalId}: ScheduleExpression: ${error.message}`, { cause: error });
  }
}

/** To a function the input goes as its event. */
function checkInput({ stack, logicalId }: Declared, targetArn: string, input: string | undefined): void {
  if (input === undefined || targetArn.split(':')[2] !== 'lambda') return;
  try {
    JSON.parse(input);
  } catch (cause) {
    throw new TemplateError(`${stack.name}/${logicalId}: Target.Input is no JSON, as a function takes it: ${input}`, {
      cause,
    });
  }
}

function nameOf({ stack, logicalId, resource }: Declared): string {
  const name = resource.Properties?.Name;
  return typeof name === 'string' ? name : `${stack.name}-${withoutHash(logicalId)}`;
}

function arnOf({ place: { region, account } }: Resources, resource: string): string {
  return `arn:aws:scheduler:${region}:${account}:${resource}`;
}
