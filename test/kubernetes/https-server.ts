import { once } from 'node:events';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Certificates, makeCertificates } from '../../local/kubernetes/certificates.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed, if there is one. */
  readonly body?: unknown;
  /** Number of the connection that it came by, from 1. */
  readonly connection: number;
}

export type Reply =
  | {
      readonly status?: number;
      readonly json?: unknown;
      readonly text?: string;
      readonly headers?: Record<string, string>;
    }
  /** Nothing is ever answered; `beginning`: after a part of the answer. */
  | { readonly hang: true; readonly beginning?: string }
  /** The connection is cut: before an answer, or after a part of it. */
  | { readonly cut: true; readonly beginning?: string };

export interface HttpsServer {
  readonly url: string;
  readonly caPem: string;
  readonly requests: readonly Received[];
  /** What it answers from now on. `count`: requests that came since, this one among them. */
  answer(by: (request: Received, count: number) => Reply): void;
  close(): Promise<void>;
}

/** A server with a certificate for the loopback address, which answers whatever a test wants, misbehaviour included. */
export async function startHttpsServer(options: ServerOptions = {}): Promise<HttpsServer> {
  const certificates: Certificates = await makeCertificates();
  const requests: Received[] = [];
  let by: (request: Received, count: number) => Reply = () => ({ status: 500, text: 'no answer was prepared' });
  let count = 0;
  const connections = new WeakMap<object, number>();
  let opened = 0;
  const server = createServer({ cert: certificates.certificatePem, key: certificates.keyPem, ...options });
  server.on('secureConnection', (socket) => {
    opened += 1;
    connections.set(socket, opened);
    // A client that goes away in the middle is what some tests are about.
    socket.on('error', () => socket.destroy());
  });
  server.on('request', async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const url = new URL(incoming.url ?? '', 'https://server');
    const received: Received = {
      method: incoming.method ?? '',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: incoming.headers,
      ...(text === '' ? {} : { body: JSON.parse(text) as unknown }),
      connection: connections.get(incoming.socket) ?? 0,
    };
    requests.push(received);
    count += 1;
    const reply = by(received, count);
    if ('hang' in reply || 'cut' in reply) {
      if (reply.beginning !== undefined) {
        outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000000' });
        await new Promise<void>((resolve) => outgoing.write(reply.beginning, () => resolve()));
      }
      if ('cut' in reply) incoming.socket.destroy();
      return;
    }
    outgoing.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
    outgoing.end(reply.text ?? (reply.json === undefined ? '' : JSON.stringify(reply.json)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem: certificates.caPem,
    requests,
    answer(next) {
      by = next;
      count = 0;
      requests.length = 0;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** As an API server answers what it does not do. */
export function failure(status: number, reason: string, message = `it is ${reason}`): Reply {
  return {
    status,
    json: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code: status },
  };
}
