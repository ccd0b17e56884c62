import { isAscii } from 'node:buffer';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request as send } from 'node:https';
import type { TLSSocket } from 'node:tls';

/** Where an API server is, and what its certificate is checked against. There is no way not to check it. */
export interface Endpoint {
  /** `https://host:port`, with a path before `/api` where a proxy wants one. */
  readonly server: string;
  /** Certificates in PEM; no others are trusted, the system's neither. */
  readonly ca: string;
  /** Name that the certificate must be for; left out: that of `server`. */
  readonly serverName?: string;
  /** Certificate and key in PEM by which this side shows who it is. */
  readonly client?: { readonly cert: string; readonly key: string };
}

/** Bounds of one exchange; defaults in the settings. */
export interface Bounds {
  readonly connectMs: number;
  readonly requestMs: number;
  readonly answerBytes: number;
}

export interface Outgoing {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signals: readonly AbortSignal[];
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Thrown when no whole answer came. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  /** As in `ECONNREFUSED`. */
  readonly code: string;
  /** Whether the server may have got the request: a connection stood. */
  readonly sent: boolean;

  constructor(code: string, sent: boolean, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.sent = sent;
  }
}

export function agentOf({ ca, serverName, client }: Endpoint): Agent {
  return new Agent({
    keepAlive: true,
    ca,
    ...client,
    ...(serverName === undefined ? {} : { servername: serverName }),
    minVersion: 'TLSv1.2',
    // Said, although it is the default: said, NODE_TLS_REJECT_UNAUTHORIZED does not count.
    rejectUnauthorized: true,
  });
}

/** Sends one request and reads its answer, whatever its status; redirects are not followed. */
export async function exchange(url: URL, agent: Agent, outgoing: Outgoing, bounds: Bounds): Promise<Answer> {
  const { method, path, headers, body, signals } = outgoing;
  const state: State = { sent: false };
  if (signals.some(({ aborted }) => aborted)) throw new ExchangeError('ABORTED', false, 'it was given up');
  // A URL has the brackets of an IPv6 address, a connection has none.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const options: RequestOptions = { agent, host, port: url.port === '' ? 443 : url.port, method, path, headers };
  const request = begun(options);
  const giveUp = (code: string, message: string) => {
    state.end ??= { code, message };
    request.destroy(new Error(message));
  };
  const onAbort = () => giveUp('ABORTED', 'it was given up');
  const connecting = setTimeout(
    () => giveUp('ETIMEDOUT', `no connection within ${bounds.connectMs} ms`),
    bounds.connectMs,
  );
  const asking = setTimeout(
    () => giveUp('ETIMEDOUT', `no whole answer within ${bounds.requestMs} ms`),
    bounds.requestMs,
  );
  for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true });
  try {
    request.once('socket', (socket) => {
      const stands = () => {
        state.sent = true;
        clearTimeout(connecting);
      };
      // One that was used before stands already.
      if ((socket as TLSSocket & { secureConnecting?: boolean }).secureConnecting) socket.once('secureConnect', stands);
      else stands();
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve);
      // Not once: an error that comes after the first must not end the process.
      request.on('error', reject);
    });
    request.end(body);
    const answer = await answered;
    return { status: answer.statusCode ?? 0, body: await textOf(answer, bounds.answerBytes) };
  } catch (error) {
    throw exchangeError(error, state);
  } finally {
    clearTimeout(connecting);
    clearTimeout(asking);
    for (const signal of signals) signal.removeEventListener('abort', onAbort);
  }
}

/** What OpenSSL makes nothing of (a certificate, a key) and what no header holds (a token with a line break) is thrown at once. */
function begun(options: RequestOptions): ClientRequest {
  try {
    return send(options);
  } catch (error) {
    throw exchangeError(error, { sent: false });
  }
}

interface State {
  sent: boolean;
  /** Why this side ended it. */
  end?: { readonly code: string; readonly message: string };
}

async function textOf(answer: IncomingMessage, answerBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > answerBytes) {
      throw new ExchangeError('ETOOLARGE', true, `its answer is larger than ${answerBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const all = Buffer.concat(chunks, bytes);
  // Nearly all of it is ASCII, which is a copy then; of a large cluster decoding it otherwise takes as long as parsing.
  return all.toString(isAscii(all) ? 'latin1' : 'utf8');
}

function exchangeError(error: unknown, { sent, end }: State): ExchangeError {
  if (error instanceof ExchangeError) return error;
  if (end) return new ExchangeError(end.code, sent, end.message, { cause: error });
  const { code, message } = error as NodeJS.ErrnoException;
  return new ExchangeError(code ?? 'EUNKNOWN', sent, message, { cause: error });
}
