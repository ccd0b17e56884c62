import * as z from 'zod/mini';
import { type Declared, type Resources, TemplateError } from './scope.ts';
import { whole } from './whole.ts';

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

/** With the bounds and defaults of `CreateEventSourceMapping`. */
const sqs = z.strictObject({
  BatchSize: z._default(whole(1, 10_000), 10),
  FunctionResponseTypes: z._default(z.array(z.literal('ReportBatchItemFailures')), []),
  ScalingConfig: z.optional(z.strictObject({ MaximumConcurrency: whole(2, 1000) })),
  MaximumBatchingWindowInSeconds: z._default(whole(0, 300), 0),
});

/** Messages of a batch from a FIFO queue, and of one that is not gathered over a window. */
const UNGATHERED_BATCH = 10;

/** Properties that `declaredMappings` has read, or that make no difference here. */
export const MAPPING_COMMON = ['EventSourceArn', 'FunctionName', 'Enabled', 'MetricsConfig', 'Tags'];

/** What an SQS source is set to. */
export interface SqsMapping extends DeclaredMapping {
  readonly fifo: boolean;
  readonly batchSize: number;
  /** How long messages are gathered for a batch that is not full yet, milliseconds. */
  readonly windowMs: number;
  readonly reportBatchItemFailures: boolean;
  /** Batches at once, if limited. */
  readonly maximumConcurrency?: number | undefined;
}

/**
 * @throws TemplateError on what Lambda would refuse, and on a property that would change what the function sees and is not
 * built here, such as filters
 */
export function sqsMapping(resources: Resources, mapping: DeclaredMapping): SqsMapping {
  const it = resources.properties(mapping.declared, sqs, MAPPING_COMMON);
  const { stack, logicalId } = mapping.declared;
  const fifo = mapping.sourceArn.endsWith('.fifo');
  const window = it.MaximumBatchingWindowInSeconds;
  if (fifo && window > 0) {
    throw new TemplateError(
      `${stack.name}/${logicalId}: MaximumBatchingWindowInSeconds is ${window}; a FIFO queue has none`,
    );
  }
  if (it.BatchSize > UNGATHERED_BATCH && window === 0) {
    throw new TemplateError(
      `${stack.name}/${logicalId}: BatchSize is ${it.BatchSize}; of a FIFO queue, and without a ` +
        `MaximumBatchingWindowInSeconds, at most ${UNGATHERED_BATCH} may be`,
    );
  }
  return {
    ...mapping,
    fifo,
    batchSize: it.BatchSize,
    windowMs: window * 1000,
    reportBatchItemFailures: it.FunctionResponseTypes.length > 0,
    maximumConcurrency: it.ScalingConfig?.MaximumConcurrency,
  };
}
