import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { EpochMs } from '../../lib/time.ts';

export type Service = 'eks' | 'autoscaling' | 'kubernetes';

/** A request to one of the servers, before it is answered. */
export interface OutsideRequest {
  readonly service: Service;
  /** Of a request to EKS or to a Kubernetes API. */
  readonly cluster?: string | undefined;
  /** The action (`SetDesiredCapacity`); of a Kubernetes API verb and resource (`delete gameservers`, `patch gameservernodes/status`). */
  readonly operation: string;
  /** What it is about: the group, instance, node group or object; empty where it is about many. */
  readonly subject: string;
}

/** What happens to a request instead of, or beside, what it asks for. */
export type Fault =
  /**
   * It has no effect, and is answered with an error: of AWS by its code (`Throttling`), of Kubernetes by its reason
   * (`TooManyRequests`), or `AdmissionDenied`: by a webhook, for the reason `message`.
   */
  | {
      readonly kind: 'refuse';
      readonly code: string;
      readonly message?: string;
      /** The HTTP status. Default 400 of AWS, and what belongs to the reason of Kubernetes. */
      readonly status?: number;
      readonly retryAfterSeconds?: number;
    }
  /** The connection ends without an answer, before or after the request has taken effect. */
  | { readonly kind: 'cut'; readonly effect: boolean }
  /** It takes effect at once, and is answered when `until` is fulfilled. */
  | { readonly kind: 'late'; readonly until: Promise<unknown> }
  /** Something else happens just before it takes effect, or just after: an allocation, the end of the caller. */
  | { readonly kind: 'meanwhile'; readonly act: () => unknown; readonly after?: boolean };

export interface FaultRule {
  readonly service?: Service;
  readonly cluster?: string;
  readonly operation?: string;
  readonly subject?: string;
  /** The first of the matching requests that is struck, from now on. Default 1. */
  readonly nth?: number;
  /** How many are struck. Default 1; Infinity: all from then on. */
  readonly times?: number;
  readonly fault: Fault;
}

export interface LoggedRequest extends OutsideRequest {
  readonly at: EpochMs;
  /** What was made to happen to it; undefined: nothing. */
  readonly fault?: Fault['kind'];
}

/** Faults as a history of many requests has them: any of `faults` strikes a share of the requests that match. */
export interface RandomFaults extends Pick<FaultRule, 'service' | 'cluster' | 'operation'> {
  readonly seed: number;
  /** From 0 to 1. */
  readonly share: number;
  readonly faults: readonly [Fault, ...Fault[]];
}

/** Which requests come to harm, and which requests there were: of all servers of a world, in one order. */
export class Faults {
  readonly #now: () => EpochMs;
  readonly #requests: LoggedRequest[] = [];
  readonly #rules = new Set<(request: OutsideRequest) => Fault | undefined>();

  constructor(now: () => EpochMs) {
    this.#now = now;
  }

  get requests(): readonly LoggedRequest[] {
    return this.#requests;
  }

  /** The answer takes the rule off again. */
  add({ nth = 1, times = 1, fault, ...rule }: FaultRule): () => void {
    let seen = 0;
    return this.#enter((request) => {
      if (!matches(rule, request)) return undefined;
      seen += 1;
      return seen >= nth && seen < nth + times ? fault : undefined;
    });
  }

  /** The answer ends it. The same seed strikes the same of the same requests. */
  addRandom({ seed, share, faults, ...rule }: RandomFaults): () => void {
    const generator = xoroshiro128plus(seed);
    return this.#enter((request) => {
      if (!matches(rule, request) || uniformFloat64(generator) >= share) return undefined;
      return faults[uniformInt(generator, 0, faults.length - 1)];
    });
  }

  clear(): void {
    this.#rules.clear();
  }

  /** Notes a request; the fault that is to happen to it. Every rule counts it, the first that strikes does. */
  strike(request: OutsideRequest): Fault | undefined {
    const fault = [...this.#rules].map((rule) => rule(request)).find((struck) => struck !== undefined);
    const { service, cluster, operation, subject } = request;
    this.#requests.push({
      service,
      ...(cluster === undefined ? {} : { cluster }),
      operation,
      subject,
      at: this.#now(),
      ...(fault === undefined ? {} : { fault: fault.kind }),
    });
    return fault;
  }

  #enter(rule: (request: OutsideRequest) => Fault | undefined): () => void {
    this.#rules.add(rule);
    return () => this.#rules.delete(rule);
  }
}

function matches(rule: Omit<FaultRule, 'fault'>, request: OutsideRequest): boolean {
  return (['service', 'cluster', 'operation', 'subject'] as const).every(
    (field) => rule[field] === undefined || rule[field] === request[field],
  );
}
