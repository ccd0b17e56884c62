import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from '../loopback-server.ts';
import type { Fault, Faults, OutsideRequest } from './faults.ts';
import { ServiceError } from './service-error.ts';

export interface AwsServer {
  readonly url: string;
  close(): Promise<void>;
}

/** A request as a protocol has read it: what it is about, and what answers it. */
export interface AwsCall extends OutsideRequest {
  /** Throws ServiceError where it refuses. */
  answer(): unknown;
}

/** How a service writes requests and answers. */
export interface AwsProtocol {
  readonly contentType: string;
  /** Throws ServiceError where the request is none of the service. */
  read(request: { readonly method: string; readonly path: string; readonly body: string }): AwsCall;
  body(operation: string, requestId: string, answer: unknown): string;
  errorBody(error: ServiceError, requestId: string): string;
  /** Header in which the error's code stands beside the body, if any. */
  readonly errorHeader?: string;
}

export interface AwsServerSettings {
  readonly faults: Faults;
  /** Brings the world to the present; called before each request is looked at. */
  settle(): void;
}

/** Serves one AWS API on a free port of the loopback address, with the faults that are ordered. */
export async function startAwsServer(protocol: AwsProtocol, settings: AwsServerSettings): Promise<AwsServer> {
  const server = createServer((request, response) => {
    serve(protocol, settings, request, response).catch((error: unknown) => response.destroy(error as Error));
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

async function serve(
  protocol: AwsProtocol,
  { faults, settle }: AwsServerSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = randomUUID();
  const send = (status: number, body: string, headers: Record<string, string> = {}) => {
    const all = { 'content-type': protocol.contentType, 'x-amzn-requestid': requestId, ...headers };
    response.writeHead(status, all).end(body);
  };
  try {
    const body = await text(request);
    settle();
    const call = protocol.read({ method: request.method ?? '', path: request.url ?? '', body });
    const fault = faults.strike(call);
    const outcome = await actUnder(fault, call);
    if (outcome === CUT) response.destroy();
    else send(200, protocol.body(call.operation, requestId, outcome));
  } catch (error) {
    const known = error instanceof ServiceError ? error : new ServiceError('InternalFailure', String(error), 500);
    const header = protocol.errorHeader === undefined ? {} : { [protocol.errorHeader]: known.code };
    send(known.status, protocol.errorBody(known, requestId), header);
  }
}

const CUT = Symbol('the connection ends without an answer');

async function actUnder(fault: Fault | undefined, call: AwsCall): Promise<unknown> {
  if (fault === undefined) return call.answer();
  switch (fault.kind) {
    case 'refuse':
      throw new ServiceError(fault.code, fault.message ?? fault.code, fault.status);
    case 'cut':
      if (fault.effect) call.answer();
      return CUT;
    case 'late': {
      const answer = call.answer();
      await fault.until;
      return answer;
    }
    case 'meanwhile': {
      if (!fault.after) await fault.act();
      const answer = call.answer();
      if (fault.after) await fault.act();
      return answer;
    }
  }
}
