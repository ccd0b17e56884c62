import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SQSClient } from '@aws-sdk/client-sqs';

/** Milliseconds after which somebody who watches is told what is waited for. */
const TOLD_AFTER_MS = 1_000;
/** Milliseconds for which a service is asked that has answered nothing yet: whoever typed a command is there to look. */
const PATIENCE_MS = 20_000;
/** The same where this very machine says that nobody listens: that is not for a network to get over. */
const LOOPBACK_PATIENCE_MS = 1_500;

/** How the services that a command asks are called, and the variables that name their endpoints. */
const SERVICES = {
  dynamodb: { name: 'DynamoDB', variable: 'AWS_ENDPOINT_URL_DYNAMODB' },
  sqs: { name: 'SQS', variable: 'AWS_ENDPOINT_URL_SQS' },
} as const;
type Service = keyof typeof SERVICES;

type Env = Readonly<Record<string, string | undefined>>;

/** Thrown when a service does not answer. Says which, where, and what to look at. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** Time as a test may have it. */
export interface Time {
  /** Milliseconds since whenever. */
  now(): number;
  /** Calls `call` once, in `ms` milliseconds; what it answers prevents that. */
  later(call: () => void, ms: number): () => void;
}

const systemTime: Time = {
  now: () => performance.now(),
  later(call, ms) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** What a request goes to. */
export interface Endpoint {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
}

/** Of one service: since when it answers nothing. */
interface Silence {
  readonly since: number;
  readonly endpoint: Endpoint;
  /** That of the latest try. */
  error: unknown;
  told: boolean;
  cancel: () => void;
}

/**
 * Tells whoever waits for a command what it waits for, and gives up a service that has never answered long before a worker would
 * (lib/client): what is wrong then is mostly an endpoint.
 */
export class Patience {
  readonly #env: Env;
  readonly #tell: (line: string) => void;
  readonly #time: Time;
  readonly #silences = new Map<Service, Silence>();
  readonly #answered = new Set<Service>();

  /** `tell` is told a line, once for each time that a service is away. */
  constructor(env: Env, tell: (line: string) => void, time: Time = systemTime) {
    this.#env = env;
    this.#tell = tell;
    this.#time = time;
  }

  /** Has an eye on every try of every request of `client`. */
  watch(service: Service, client: DynamoDBClient | SQSClient): void {
    // Both have a stack of the same kind, of inputs that are not looked at here.
    (client as DynamoDBClient).middlewareStack.add(
      (next) => (args) => this.attempt(service, args.request as Endpoint, () => next(args)),
      // Next to the network: what throws there is no answer, and any status is one.
      { step: 'deserialize', priority: 'low', name: 'berthPatience' },
    );
  }

  /** One try of a request. Throws NoAnswerError, at which the SDK does not try again, once patience is at its end. */
  async attempt<T>(service: Service, endpoint: Endpoint, send: () => Promise<T>): Promise<T> {
    const begun = this.#time.now();
    try {
      const answer = await send();
      this.#answered.add(service);
      this.#end(service);
      return answer;
    } catch (error) {
      // Given up by the command itself.
      if (error instanceof Error && error.name === 'AbortError') throw error;
      const silence: Silence = this.#silences.get(service) ?? {
        since: begun,
        endpoint,
        error,
        told: false,
        cancel: () => undefined,
      };
      silence.error = error;
      this.#silences.set(service, silence);
      const waited = this.#time.now() - silence.since;
      if (!silence.told) this.#tellIn(service, Math.max(0, TOLD_AFTER_MS - waited));
      const most = this.#mostOf(service, silence);
      // biome-ignore lint/style/useErrorCause: with that cause the SDK and the client would try again.
      if (most !== undefined && waited >= most) throw new NoAnswerError(this.#endText(service, silence));
      throw error;
    }
  }

  /** `error`, which a command ended with, or what to do about a service that did not answer if that was its cause. */
  explained(error: unknown): unknown {
    for (let inner = error, depth = 0; inner instanceof Error && depth < 10; inner = inner.cause, depth++) {
      if (inner instanceof NoAnswerError) return inner;
      for (const [service, silence] of this.#silences) {
        if (silence.error === inner) return new NoAnswerError(this.#endText(service, silence), { cause: error });
      }
    }
    return error;
  }

  /** Nothing more is waited for. */
  close(): void {
    for (const service of this.#silences.keys()) this.#end(service);
  }

  #end(service: Service): void {
    this.#silences.get(service)?.cancel();
    this.#silences.delete(service);
  }

  #tellIn(service: Service, ms: number): void {
    const silence = this.#silences.get(service);
    if (silence === undefined) return;
    silence.cancel();
    const tell = () => {
      silence.told = true;
      const most = this.#mostOf(service, silence);
      const left = most === undefined ? '' : ` for up to ${Math.ceil(most / 1000)} s`;
      this.#tell(`${this.#awayText(service, silence)}; trying on${left}`);
    };
    if (ms > 0) silence.cancel = this.#time.later(tell, ms);
    else tell();
  }

  /** Milliseconds for which a service may be away; undefined: as long as the client has patience, since it was there. */
  #mostOf(service: Service, { endpoint, error }: Silence): number | undefined {
    if (this.#answered.has(service)) return undefined;
    return isLoopback(endpoint) && codeOf(error) === 'ECONNREFUSED' ? LOOPBACK_PATIENCE_MS : PATIENCE_MS;
  }

  #awayText(service: Service, { endpoint, error }: Silence): string {
    const { protocol, hostname, port } = endpoint;
    const at = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
    return `${SERVICES[service].name} at ${at} does not answer (${codeOf(error)})`;
  }

  #endText(service: Service, silence: Silence): string {
    const variable = [SERVICES[service].variable, 'AWS_ENDPOINT_URL'].find((name) => this.#env[name]);
    const away = this.#awayText(service, silence);
    if (variable === undefined) return `${away}: is AWS_REGION right, and does the network reach AWS?`;
    const local = isLoopback(silence.endpoint) ? 'is the engine running (npm start)? Is' : 'is';
    return `${away}: ${local} ${variable} right?`;
  }
}

function isLoopback({ hostname }: Endpoint): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/.test(hostname);
}

/** `ECONNREFUSED`, `TimeoutError`. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no reason given';
  const { code } = error as NodeJS.ErrnoException;
  return code ?? error.name;
}
