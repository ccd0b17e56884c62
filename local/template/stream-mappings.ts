import * as z from 'zod/mini';
import { compileFilterPattern, type Filter, FilterPatternError } from '../event-sources/filter-pattern.ts';
import { type DeclaredMapping, MAPPING_COMMON } from './event-source-mappings.ts';
import { type Resources, TemplateError } from './scope.ts';
import { whole } from './whole.ts';

/** What a DynamoDB stream source is set to. */
export interface StreamMapping extends DeclaredMapping {
  readonly startingPosition: 'LATEST' | 'TRIM_HORIZON';
  /** Records of one invocation at most. */
  readonly batchSize: number;
  /** How long records are gathered for a batch that is not full yet, milliseconds. */
  readonly windowMs: number;
  /** Batches of one shard at once. */
  readonly parallelizationFactor: number;
  readonly bisectOnError: boolean;
  /** Invocations after the first of one batch; infinite unless limited. */
  readonly maximumRetries: number;
  /** Older records are given up, milliseconds; infinite unless limited. */
  readonly maximumAgeMs: number;
  readonly reportBatchItemFailures: boolean;
  /** ARN of the queue that is told of what was given up. */
  readonly onFailureArn?: string | undefined;
  /** A record passes if one of them takes it; all pass if there is none. */
  readonly filters: readonly Filter[];
}

/** Filters of one mapping. Source: Lambda developer guide, event filtering; ten on request. */
const MAX_FILTERS = 5;
const UNLIMITED = -1;

/** With the bounds and defaults of `CreateEventSourceMapping`. */
const stream = z.strictObject({
  StartingPosition: z.enum(['LATEST', 'TRIM_HORIZON'], 'expected LATEST or TRIM_HORIZON'),
  BatchSize: z._default(whole(1, 10_000), 100),
  MaximumBatchingWindowInSeconds: z._default(whole(0, 300), 0),
  ParallelizationFactor: z._default(whole(1, 10), 1),
  BisectBatchOnFunctionError: z._default(z.boolean(), false),
  MaximumRetryAttempts: z._default(whole(0, 10_000, UNLIMITED), UNLIMITED),
  MaximumRecordAgeInSeconds: z._default(whole(60, 604_800, UNLIMITED), UNLIMITED),
  FunctionResponseTypes: z._default(z.array(z.literal('ReportBatchItemFailures')), []),
  DestinationConfig: z.optional(z.strictObject({ OnFailure: z.optional(z.strictObject({ Destination: z.string() })) })),
  FilterCriteria: z.optional(
    z.strictObject({
      Filters: z._default(
        z
          .array(z.strictObject({ Pattern: z.string() }))
          .check(z.maxLength(MAX_FILTERS, `a mapping has at most ${MAX_FILTERS} filters`)),
        [],
      ),
    }),
  ),
});

/** @throws TemplateError on a property that is out of its bounds, is not built here, or is a filter pattern Lambda would refuse */
export function streamMapping(resources: Resources, mapping: DeclaredMapping): StreamMapping {
  const it = resources.properties(mapping.declared, stream, MAPPING_COMMON);
  const limit = (value: number) => (value === UNLIMITED ? Number.POSITIVE_INFINITY : value);
  return {
    ...mapping,
    startingPosition: it.StartingPosition,
    batchSize: it.BatchSize,
    windowMs: it.MaximumBatchingWindowInSeconds * 1000,
    parallelizationFactor: it.ParallelizationFactor,
    bisectOnError: it.BisectBatchOnFunctionError,
    maximumRetries: limit(it.MaximumRetryAttempts),
    maximumAgeMs: limit(it.MaximumRecordAgeInSeconds) * 1000,
    reportBatchItemFailures: it.FunctionResponseTypes.length > 0,
    onFailureArn: it.DestinationConfig?.OnFailure?.Destination,
    filters: (it.FilterCriteria?.Filters ?? []).map(({ Pattern }, index) => compile(Pattern, mapping, index)),
  };
}

function compile(pattern: string, { declared: { stack, logicalId } }: DeclaredMapping, index: number): Filter {
  try {
    return compileFilterPattern(pattern);
  } catch (error) {
    if (!(error instanceof FilterPatternError)) throw error;
    throw new TemplateError(
      `${stack.name}/${logicalId}: FilterCriteria.Filters[${index}].Pattern: ${error.message}; in ${pattern}`,
      { cause: error },
    );
  }
}
