import type { InvocationResult } from '../functions/execution-environment.ts';

export interface BatchOutcome {
  /** Ids of the messages or changes that are to be delivered again. */
  readonly failed: ReadonlySet<string>;
  /** Why all of them are, if it was not the function that listed them. */
  readonly problem?: string | undefined;
}

/**
 * Which events of a batch failed, from how the invocation ended. An exception, a time-out or a crash fails them all;
 * with ReportBatchItemFailures so does an answer that is not understood, since to go on would lose events.
 *
 * Source: Lambda developer guide, "Success and failure conditions" of partial batch responses. Beyond it, an answer that
 * has other keys and no `batchItemFailures` fails here: that is a misspelling, and deployed it may be taken for success.
 *
 * @param ids as the function is to list them: message ids of a queue, sequence numbers of a stream
 */
export function batchOutcome(
  result: InvocationResult,
  ids: readonly string[],
  reportBatchItemFailures: boolean,
): BatchOutcome {
  const all = (problem: string): BatchOutcome => ({ failed: new Set(ids), problem });
  if (result.status === 'failed') return all(`${result.error.errorType}: ${result.error.errorMessage}`);
  if (!reportBatchItemFailures) return { failed: new Set() };

  const answer = JSON.parse(result.payload) as unknown;
  if (answer === null) return { failed: new Set() };
  if (typeof answer !== 'object' || Array.isArray(answer)) return all(`the answer is no object: ${result.payload}`);
  if (Object.keys(answer).length === 0) return { failed: new Set() };
  if (!('batchItemFailures' in answer)) return all(`the answer has no batchItemFailures: ${result.payload}`);

  const { batchItemFailures: failures } = answer;
  if (failures === null) return { failed: new Set() };
  if (!Array.isArray(failures)) return all(`batchItemFailures is no list: ${result.payload}`);
  const failed = new Set<string>();
  for (const failure of failures) {
    const id: unknown = failure?.itemIdentifier;
    if (typeof id !== 'string' || !ids.includes(id)) {
      return all(`batchItemFailures has ${JSON.stringify(failure)}, expected { itemIdentifier: <id of the batch> }`);
    }
    failed.add(id);
  }
  return { failed };
}
