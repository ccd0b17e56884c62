import type { CallErrorKind } from '../call-error.ts';
import type { Finding } from '../plan/findings.ts';

/** Something that a tick has done, for events and metrics. */
export type Deed =
  | { readonly kind: 'cordoned' | 'uncordoned' | 'node-deleted'; readonly node: string }
  | { readonly kind: 'increased'; readonly by: number }
  | { readonly kind: 'server-deleted'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'machine-ended'; readonly node: string; readonly instance?: string }
  | { readonly kind: 'registered'; readonly node: string; readonly pool: string }
  /** Taken out of a pool of Berth, which orphaned so many tasks. */
  | { readonly kind: 'unregistered'; readonly node: string; readonly pool: string; readonly orphaned: number };

/** What was asked of the outside. */
export type Operation =
  | 'cordon'
  | 'uncordon'
  | 'unmark'
  | 'mark'
  | 'increase'
  | 'deleteGameServer'
  | 'endMachine'
  | 'deleteNode'
  | 'ledger'
  | 'readRegistry'
  | 'register'
  | 'unregister'
  | 'status'
  | 'event'
  | 'read';

/** A call that was not answered with success. */
export interface TickError {
  readonly operation: Operation;
  /** Node, server or object that it was about. */
  readonly subject: string;
  readonly code: string;
  readonly message: string;
  /** Left out where the pool could not be seen whole. */
  readonly kind?: CallErrorKind;
}

/** What a tick has done with one pool. */
export interface Report {
  readonly deeds: readonly Deed[];
  readonly errors: readonly TickError[];
  readonly findings: readonly Finding[];
  /** Whether time ran out before all that was planned had been begun. The next tick goes on. */
  readonly outOfTime: boolean;
}
