import * as z from 'zod/mini';
import type { Declared, Resources } from './scope.ts';
import { whole } from './whole.ts';

/** What becomes of an asynchronous invocation of a function, such as one by a schedule, when it fails. */
export interface EventInvokeConfig {
  readonly declared: Declared;
  /** Name or ARN. */
  readonly functionName: string;
  /** Invocations after the first. */
  readonly maximumRetries: number;
  /** ARN of the queue that is told of what failed for good. */
  readonly onFailureArn?: string | undefined;
}

/** Invocations after the first, of a function that has no configuration. Source: Lambda API, `PutFunctionEventInvokeConfig`. */
export const ASYNC_RETRIES = 2;

const properties = z.strictObject({
  FunctionName: z.string(),
  Qualifier: z.literal('$LATEST', 'the local engine knows $LATEST alone'),
  MaximumRetryAttempts: z._default(whole(0, ASYNC_RETRIES), ASYNC_RETRIES),
  DestinationConfig: z.optional(z.strictObject({ OnFailure: z.optional(z.strictObject({ Destination: z.string() })) })),
});

/** Here nothing waits so long that it would be too old. */
const IGNORED = ['MaximumEventAgeInSeconds'];

export function declaredEventInvokeConfigs(resources: Resources): EventInvokeConfig[] {
  return resources.ofType('AWS::Lambda::EventInvokeConfig').map((declared) => {
    const it = resources.properties(declared, properties, IGNORED);
    return {
      declared,
      functionName: it.FunctionName,
      maximumRetries: it.MaximumRetryAttempts,
      onFailureArn: it.DestinationConfig?.OnFailure?.Destination,
    };
  });
}
