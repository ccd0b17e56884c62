import { randomUUID } from 'node:crypto';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { isoTime } from '../../lib/time.ts';
import type { InvocationResult } from '../functions/execution-environment.ts';
import type { FunctionRunner } from '../functions/function-runner.ts';
import { ASYNC_RETRIES, declaredEventInvokeConfigs } from '../template/event-invoke-configs.ts';
import type { Declared } from '../template/scope.ts';
import { type EventSourceContext, functionOf, queueOf } from './event-source.ts';

/** How one asynchronous invocation ended, after all retries. */
export interface AsyncOutcome {
  readonly ok: boolean;
  readonly invocations: number;
  /** Whether a queue was told of what failed for good. */
  readonly toldQueue: boolean;
}

/** A function that is invoked without anybody waiting for its answer: Lambda keeps the event and tries again itself. */
export class AsyncFunction {
  readonly runner: FunctionRunner;
  readonly #maximumRetries: number;
  readonly #onFailureUrl: string | undefined;
  readonly #context: EventSourceContext;

  /** @throws TemplateError */
  constructor(context: EventSourceContext, declared: Declared, nameOrArn: string) {
    this.runner = functionOf(context, declared, nameOrArn);
    this.#context = context;
    const config = declaredEventInvokeConfigs(context.resources).find(
      (it) => functionOf(context, it.declared, it.functionName) === this.runner,
    );
    this.#maximumRetries = config?.maximumRetries ?? ASYNC_RETRIES;
    this.#onFailureUrl = config?.onFailureArn && queueOf(context, config.declared, config.onFailureArn).url;
  }

  /** @param backOff waits before the `retry`th retry, counted from 1 */
  async invoke(event: unknown, backOff: (retry: number) => Promise<void>): Promise<AsyncOutcome> {
    for (let invocations = 1; ; invocations += 1) {
      const result = await this.runner.invoke(event);
      if (result.status === 'returned') return { ok: true, invocations, toldQueue: false };
      if (invocations > this.#maximumRetries) {
        return { ok: false, invocations, toldQueue: await this.#tell(event, result, invocations) };
      }
      await backOff(invocations);
    }
  }

  /** Source: Lambda developer guide, "Capturing records of asynchronous invocations". */
  async #tell(requestPayload: unknown, result: InvocationResult, invocations: number): Promise<boolean> {
    if (this.#onFailureUrl === undefined || result.status !== 'failed') return false;
    const record = {
      version: '1.0',
      timestamp: isoTime(this.#context.clock()),
      requestContext: {
        requestId: randomUUID(),
        functionArn: `${this.runner.definition.arn}:$LATEST`,
        condition: 'RetriesExhausted',
        approximateInvokeCount: invocations,
      },
      requestPayload,
      responseContext: { statusCode: 200, executedVersion: '$LATEST', functionError: 'Unhandled' },
      responsePayload: result.error,
    };
    const input = { QueueUrl: this.#onFailureUrl, MessageBody: JSON.stringify(record) };
    await this.#context.sqs.client.send(new SendMessageCommand(input));
    return true;
  }
}
