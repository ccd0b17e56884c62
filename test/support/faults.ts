/**
 * Faults of a database that no emulator produces, one a request. `before` and `after` tell on which side of the effect
 * they strike: what is killed or lost after it has happened, although nobody was told.
 */
export type Fault =
  /** Another transaction is under way on an item: nothing was written. */
  | 'conflict'
  /** The whole request was turned away for its rate. */
  | 'throttled'
  /** One action of a transaction was turned away for its rate, which cancels all; of a batch read, some keys are left out. */
  | 'partly-throttled'
  /** A batch read leaves all its keys out. */
  | 'nothing-processed'
  | 'server-error'
  | 'lost-before'
  | 'lost-after'
  /** The process ends: this request and all later ones never answer. */
  | 'kill-before'
  | 'kill-after'
  /** The deployment is wrong: an error that no caller may turn into an answer. */
  | 'denied'
  /** Somebody else does something before the request gets there. */
  | { readonly meanwhile: () => Promise<unknown> };

/** A request that a fault may befall; `number` counts from 1. */
export interface Request {
  readonly number: number;
  readonly name: string;
}

/** Which fault befalls a request, if any. */
export type FaultScript = (request: Request) => Fault | undefined;

export const noFaults: FaultScript = () => undefined;

/** `fault` at request `number`, and none at any other. */
export function faultAt(number: number, fault: Fault): FaultScript {
  return (request) => (request.number === number ? fault : undefined);
}

/** One fault after another, whichever of the callers asks; none when they are used up. */
export function faultsInTurn(faults: readonly (Fault | undefined)[]): FaultScript {
  const left = [...faults];
  return () => left.shift();
}

/** A process that may be killed: `ended` settles then, and nothing of it answers any more. */
export class Mortal {
  readonly ended: Promise<'killed'>;
  #end: (how: 'killed') => void = () => undefined;
  #alive = true;

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Ends it; the promise that comes back never settles: code under test can neither catch nor outlive its own end. */
  kill<T>(): Promise<T> {
    this.#alive = false;
    this.#end('killed');
    return new Promise<T>(() => undefined);
  }
}
