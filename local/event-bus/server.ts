import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import * as z from 'zod/mini';
import { listenOnLoopback } from '../loopback-server.ts';

/** An event that was put onto a bus. */
export interface BusEvent {
  readonly bus: string;
  readonly source: string;
  readonly detailType: string;
  readonly detail: unknown;
}

export interface EventBusServer {
  readonly url: string;
  close(): Promise<void>;
}

const putEventsInput = z.object({
  Entries: z.array(
    z.object({
      EventBusName: z.string(),
      Source: z.string(),
      DetailType: z.string(),
      Detail: z.string(),
    }),
  ),
});

/** Bytes of one request: ten entries of 256 KB, and what names them. */
const MOST_BYTES = 4 * 1024 * 1024;

/** EventBridge as far as functions of ours use it: takes events and shows them. There are no rules on one machine. */
export async function startEventBus(onEvent: (event: BusEvent) => void): Promise<EventBusServer> {
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
    try {
      const target = request.headers['x-amz-target'];
      if (target !== 'AWSEvents.PutEvents') {
        answer(400, { __type: 'UnknownOperationException', message: `${target} is not taken here, PutEvents is` });
        return;
      }
      if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) {
        answer(413, { __type: 'ValidationException', message: `more than ${MOST_BYTES} bytes` });
        return;
      }
      const { Entries } = putEventsInput.parse(JSON.parse(await text(request)));
      for (const entry of Entries) {
        const { EventBusName: bus, Source: source, DetailType: detailType } = entry;
        onEvent({ bus, source, detailType, detail: JSON.parse(entry.Detail) });
      }
      answer(200, { FailedEntryCount: 0, Entries: Entries.map(() => ({ EventId: randomUUID() })) });
    } catch (error) {
      answer(400, { __type: 'ValidationException', message: (error as Error).message });
    }
  });
  const url = await listenOnLoopback(server);
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
