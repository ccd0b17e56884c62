import * as http from 'node:http';
import * as https from 'node:https';
import { listenOnLoopback } from '../loopback-server.ts';
import { addUsage, type MeterReading, NO_USAGE, type OperationUsage, usageOf } from './usage.ts';

/** Hop-by-hop, or between the proxy and one side alone. An answer that is compressed could not be read here. */
const NOT_FORWARDED: ReadonlySet<string> = new Set(['host', 'connection', 'keep-alive', 'accept-encoding']);

/** Counts what each consumer asks of DynamoDB: a proxy in front of it, with a port for each. */
export class Meter {
  readonly #target: URL;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;
  readonly #consumers = new Map<string, { readonly url: string; readonly server: http.Server }>();
  readonly #usage = new Map<string, Map<string, OperationUsage>>();

  /** @param endpoint where DynamoDB is */
  constructor(endpoint: string) {
    this.#target = new URL(endpoint);
    const { Agent, request } = this.#target.protocol === 'https:' ? https : http;
    this.#agent = new Agent({ keepAlive: true, scheduling: 'lifo' });
    this.#request = request;
  }

  /** The endpoint for `consumer`; the same for the same name. */
  async endpointFor(consumer: string): Promise<string> {
    const known = this.#consumers.get(consumer);
    if (known !== undefined) return known.url;
    const usage = new Map<string, OperationUsage>();
    const server = http.createServer((request, response) => this.#forward(request, response, usage));
    const url = await listenOnLoopback(server);
    this.#consumers.set(consumer, { url, server });
    this.#usage.set(consumer, usage);
    return url;
  }

  /** Everything since the start. A reading does not change any more: keep it and see `usageBetween`. */
  read(): MeterReading {
    return Object.fromEntries([...this.#usage].map(([consumer, usage]) => [consumer, Object.fromEntries(usage)]));
  }

  async close(): Promise<void> {
    const servers = [...this.#consumers.values()].map(({ server }) => server);
    await Promise.all(
      servers.map((server) => {
        const closed = new Promise((resolve) => server.close(resolve));
        server.closeAllConnections();
        return closed;
      }),
    );
    this.#agent.destroy();
  }

  /** Both bodies pass through as they come; they are looked at once they are complete. */
  #forward(request: http.IncomingMessage, response: http.ServerResponse, usage: Map<string, OperationUsage>): void {
    const asked: Buffer[] = [];
    const upstream = this.#request(this.#target, {
      agent: this.#agent,
      method: request.method,
      path: request.url,
      headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => !NOT_FORWARDED.has(name))),
    });
    // The client sees a broken connection, as it would without a proxy, and does what it does then.
    upstream.on('error', () => response.destroy());
    response.on('close', () => {
      if (!response.writableFinished) upstream.destroy();
    });
    request.on('data', (chunk: Buffer) => {
      asked.push(chunk);
      upstream.write(chunk);
    });
    request.on('end', () => upstream.end());
    upstream.on('response', (answer) => {
      const answered: Buffer[] = [];
      const status = answer.statusCode ?? 502;
      response.writeHead(status, answer.headers);
      answer.on('data', (chunk: Buffer) => {
        answered.push(chunk);
        response.write(chunk);
      });
      answer.on('error', () => response.destroy());
      answer.on('end', () => {
        const operation = String(request.headers['x-amz-target'] ?? '').replace(/^.*\./, '');
        const used = usageOf(operation, status, parse(asked), parse(answered));
        usage.set(operation, addUsage(usage.get(operation) ?? NO_USAGE, used));
        response.end();
      });
    });
  }
}

function parse(chunks: readonly Buffer[]): unknown {
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}
