import { SQSClient } from '@aws-sdk/client-sqs';
import type { Clock } from '../../lib/time.ts';
import type { Cleanup } from '../cleanup.ts';
import { checkEndpoint } from '../foreign-endpoint.ts';
import { CREDENTIALS } from '../local-environment.ts';
import { declaredQueues } from '../template/queues.ts';
import type { Resources } from '../template/scope.ts';
import { type CreatedQueue, createQueues } from './create-queues.ts';
import { Queues } from './queues.ts';
import { startSqsServer } from './server.ts';

export interface SqsOptions {
  /** One that runs already. */
  readonly endpoint?: string | undefined;
  /** File that keeps the messages; left out, they live in memory. */
  readonly journalFile?: string | undefined;
  /** Visibility time-out of all queues, in place of the template's. */
  readonly visibilitySeconds?: number | undefined;
  readonly clock: Clock;
}

/** SQS as the engine uses it. */
export interface Sqs {
  readonly url: string;
  readonly client: SQSClient;
  readonly queues: readonly CreatedQueue[];
  /** Lets receives that wait for a message of the queue return with nothing, if the SQS is the engine's own. */
  readonly endWaits: (queueName: string) => void;
}

/** SQS, the one at `endpoint` or one of the engine's own, with the queues of the template. Defines their URLs. */
export async function startSqs(resources: Resources, options: SqsOptions, cleanup: Cleanup): Promise<Sqs> {
  const declared = declaredQueues(resources, options.visibilitySeconds);
  const { url, endWaits } =
    options.endpoint === undefined
      ? await startOwn(resources, options, cleanup)
      : { url: checkEndpoint('AWS_ENDPOINT_URL_SQS', options.endpoint), endWaits: () => undefined };
  const client = new SQSClient({ endpoint: url, region: resources.place.region, credentials: CREDENTIALS });
  cleanup.add(() => client.destroy());
  const queues = await createQueues(client, declared);
  for (const { declared: resource, name } of declared) {
    resources.define(resource, { ref: queues.find((queue) => queue.name === name)?.url, attributes: {} });
  }
  return { url, client, queues, endWaits };
}

async function startOwn(resources: Resources, { journalFile, clock }: SqsOptions, cleanup: Cleanup) {
  const queues = await Queues.open({ ...resources.place, journalFile, clock });
  cleanup.add(() => queues.close());
  const server = await startSqsServer(queues);
  cleanup.add(() => server.close());
  return { url: server.url, endWaits: (name: string) => queues.endWaits(name) };
}
