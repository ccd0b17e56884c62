import * as z from 'zod/mini';
import { type Declared, type Resources, TemplateError } from './scope.ts';

/** An event source mapping: what is the same for every kind of source. */
export interface DeclaredMapping {
  readonly declared: Declared;
  readonly sourceArn: string;
  /** Name or ARN of the function. */
  readonly functionName: string;
  readonly enabled: boolean;
}

const common = z.looseObject({
  EventSourceArn: z.string(),
  FunctionName: z.string(),
  Enabled: z._default(z.boolean(), true),
});

/** The mappings of the template. Their other properties are read by the kind of source that takes them. */
export function declaredMappings(resources: Resources): DeclaredMapping[] {
  return resources.ofType('AWS::Lambda::EventSourceMapping').map((declared) => {
    const it = resources.properties(declared, common, []);
    return { declared, sourceArn: it.EventSourceArn, functionName: it.FunctionName, enabled: it.Enabled };
  });
}

const sqs = z.strictObject({
  BatchSize: z._default(z.number(), 10),
  FunctionResponseTypes: z._default(z.array(z.literal('ReportBatchItemFailures')), []),
  ScalingConfig: z.optional(z.strictObject({ MaximumConcurrency: z.number() })),
  // Zero is what a FIFO queue has anyway; anything else would gather batches, which is not built here.
  MaximumBatchingWindowInSeconds: z.optional(z.literal(0)),
});

/** Properties that `declaredMappings` has read, or that make no difference here. */
export const MAPPING_COMMON = ['EventSourceArn', 'FunctionName', 'Enabled', 'MetricsConfig', 'Tags'];

/** What an SQS source is set to. */
export interface SqsMapping extends DeclaredMapping {
  readonly batchSize: number;
  readonly reportBatchItemFailures: boolean;
  /** Batches at once, if limited. */
  readonly maximumConcurrency?: number | undefined;
}

/** @throws TemplateError on a property that would change what the function sees and is not built here, such as filters */
export function sqsMapping(resources: Resources, mapping: DeclaredMapping): SqsMapping {
  const it = resources.properties(mapping.declared, sqs, MAPPING_COMMON);
  const { stack, logicalId } = mapping.declared;
  if (it.BatchSize < 1 || it.BatchSize > 10) {
    throw new TemplateError(`${stack.name}/${logicalId}: BatchSize is ${it.BatchSize}; the local engine runs 1 to 10`);
  }
  return {
    ...mapping,
    batchSize: it.BatchSize,
    reportBatchItemFailures: it.FunctionResponseTypes.length > 0,
    maximumConcurrency: it.ScalingConfig?.MaximumConcurrency,
  };
}
