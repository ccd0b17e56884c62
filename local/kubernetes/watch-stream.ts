import type { ServerResponse } from 'node:http';
import { ApiError, statusOf } from './api-error.ts';
import type { ApiRequest } from './api-request.ts';
import type { ChangeLog, WatchEvent } from './change-log.ts';
import type { ObjectApi } from './object-api.ts';

/** Answers a watch: a JSON object per line until the client goes, or the time that it asked for is over. */
export function streamWatch(api: ObjectApi, log: ChangeLog, request: ApiRequest, response: ServerResponse): void {
  const type = api.typeOf(request);
  const { resourceVersion: since, timeoutSeconds, sendInitialEvents } = request.query;
  if (sendInitialEvents !== undefined) {
    const message =
      'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
    throw new ApiError(422, 'Invalid', message);
  }
  const matches = api.matching(type, request);
  response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
  response.flushHeaders();
  const send = (event: WatchEvent | { type: 'ERROR'; object: object }) => response.write(`${JSON.stringify(event)}\n`);
  try {
    const watched = { resource: type.resource, since: since || undefined, matches };
    const end = log.watch(watched, (event) => {
      send({ type: event.type, object: api.shown(type, event.object, request) } as WatchEvent);
    });
    const timer = timeoutSeconds ? setTimeout(() => response.end(), Number(timeoutSeconds) * 1000).unref() : undefined;
    response.once('close', () => {
      clearTimeout(timer);
      end();
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Too late for a status of HTTP: the API server says it in the stream.
    send({ type: 'ERROR', object: statusOf(error) });
    response.end();
  }
}
