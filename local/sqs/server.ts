import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenOnLoopback } from '../loopback-server.ts';
import { answer } from './operations.ts';
import { QueueAttributeError } from './queue-settings.ts';
import type { Queues } from './queues.ts';
import { SqsError } from './sqs-error.ts';

/** A message of 1 MiB can grow sixfold as JSON (as `\u0001`), and has a request around it. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;

export interface SqsServer {
  readonly url: string;
  /** Ends the long polls and the connections. */
  close(): Promise<void>;
}

/** Serves the SQS API, JSON protocol 1.0, for `queues`, on a free port of the loopback address. */
export async function startSqsServer(queues: Queues): Promise<SqsServer> {
  let baseUrl = '';
  const server = createServer((request, response) => {
    serve(queues, baseUrl, request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  baseUrl = await listenOnLoopback(server);
  return {
    url: baseUrl,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(queues: Queues, baseUrl: string, request: IncomingMessage, response: ServerResponse) {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    const target = /^AmazonSQS\.(\w+)$/.exec(String(request.headers['x-amz-target']));
    if (target?.[1] === undefined) {
      throw new SqsError('UnsupportedOperation', 'expected a POST of the JSON protocol with the header X-Amz-Target');
    }
    const input = parseJson(await readBody(request));
    respond(response, 200, await answer(target[1], input, { queues, baseUrl, signal: gone.signal }));
  } catch (error) {
    respondError(response, error);
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_REQUEST_BYTES)
      throw new SqsError('InvalidParameterValue', `a request of more than ${MAX_REQUEST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Refused where the request is checked, as anything that is no object.
    return undefined;
  }
}

function respondError(response: ServerResponse, error: unknown): void {
  const known = error instanceof QueueAttributeError ? new SqsError('InvalidAttributeValue', error.message) : error;
  if (known instanceof SqsError) {
    response.setHeader('x-amzn-query-error', `${known.queryCode};Sender`);
    respond(response, 400, { __type: `com.amazonaws.sqs#${known.code}`, message: known.message });
  } else {
    const message = error instanceof Error ? error.message : String(error);
    response.setHeader('x-amzn-query-error', 'InternalError;Receiver');
    respond(response, 500, { __type: 'com.amazonaws.sqs#InternalError', message });
  }
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': 'application/x-amz-json-1.0',
    'content-length': bytes.length,
    'x-amzn-requestid': randomUUID(),
  });
  response.end(bytes);
}
