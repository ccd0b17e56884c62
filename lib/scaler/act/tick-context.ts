import type { Clock, EpochMs } from '../../time.ts';
import { CallError, type CallErrorKind } from '../call-error.ts';
import type { Ledger, ObservedGameServer, UnjoinedMachine } from '../observation.ts';
import type { Finding } from '../plan/findings.ts';
import type { Cluster, LedgerStore, Provider } from '../ports.ts';
import type { Deed, Operation, TickError } from './report.ts';

/** What the deeds of one object's tick share: the outside, the time that is left, and what has come of it so far. */
export interface ObjectContext {
  readonly object: string;
  readonly cluster: Cluster;
  readonly ledgerStore: LedgerStore;
  readonly clock: Clock;
  /** After this nothing more is begun. */
  readonly deadline: EpochMs;
  /** As last read or written. */
  ledger: Ledger;
  readonly deeds: Deed[];
  readonly errors: TickError[];
  readonly findings: Finding[];
  /** Kinds of calls that are not made any more in this tick, since they were throttled. */
  readonly throttled: Set<Operation>;
  /** Nothing more is done in this tick: no right to, or somebody else acts on the pool. */
  halted: boolean;
  outOfTime: boolean;
}

/** Of an object that is there, and has a provider therefore. */
export interface TickContext extends ObjectContext {
  readonly provider: Provider;
  /** The servers of the cluster, listed once, after all cordons of the tick. */
  servers?: readonly ObservedGameServer[];
}

export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: CallError };

/** What a call is answered with. What is no CallError is a bug, or the end of the process, and goes through. */
export async function answerTo<T>(call: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { ok: true, value: await call() };
  } catch (error) {
    if (error instanceof CallError) return { ok: false, error };
    throw error;
  }
}

/** `call`, made when it is asked for first, and then no more. */
export function onlyOnce<T>(call: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= call();
    return made;
  };
}

/** As `answerTo`, with an error noted. */
export async function attempt<T>(
  context: ObjectContext,
  operation: Operation,
  subject: string,
  call: () => Promise<T>,
): Promise<Answer<T>> {
  const answer = await answerTo(call);
  if (!answer.ok) note(context, operation, subject, answer.error);
  return answer;
}

export function note(context: ObjectContext, operation: Operation, subject: string, error: CallError): void {
  context.errors.push({ operation, subject, code: error.code, message: error.message, kind: error.kind });
  if (error.kind === 'throttled') context.throttled.add(operation);
  if (error.kind !== 'denied') return;
  context.halted = true;
  // An error is in a log alone, and this one comes back with every tick until somebody gives the right.
  if (!OF_BERTH.has(operation)) {
    const message = `${operation} of ${subject} was denied, so nothing more is done in a tick: ${error.message}`;
    context.findings.push({ reason: 'AccessDenied', message });
  }
}

/** What is told as RegistrationFailed. */
const OF_BERTH: ReadonlySet<Operation> = new Set(['readRegistry', 'register', 'unregister']);

/** Whether something more may be begun. */
export function mayBegin(context: TickContext, operation: Operation): boolean {
  if (context.halted || context.throttled.has(operation)) return false;
  if (context.clock() < context.deadline) return true;
  context.outOfTime = true;
  return false;
}

/** Whether the call certainly did nothing. */
export function isDefinite(kind: CallErrorKind): boolean {
  return kind !== 'unknown';
}

/**
 * Writes what is to be remembered. Where it is not written, or nobody can tell, nothing more is done in this tick: what is
 * remembered is what keeps machines from being ended without a trace, and ordered twice.
 */
export async function remember(context: ObjectContext, change: (ledger: Ledger) => Ledger): Promise<boolean> {
  const answer = await attempt(context, 'ledger', context.object, () =>
    context.ledgerStore.write(change(context.ledger)),
  );
  if (answer.ok) context.ledger = answer.value;
  else context.halted = true;
  return answer.ok;
}

/** The ledger without the order; exactOptionalPropertyTypes knows no undefined. */
export function withoutOrder({ pendingIncrease: _, ...rest }: Ledger): Ledger {
  return rest;
}

/**
 * Writes which machines have no node yet. Last of all that a tick does: it is for telling alone, and that it could not be
 * written must keep nothing else from being done.
 */
export async function rememberUnjoined(
  context: TickContext,
  unjoined: readonly UnjoinedMachine[] | undefined,
): Promise<void> {
  if (unjoined === undefined || !mayBegin(context, 'ledger')) return;
  await remember(context, ({ unjoined: _, ...rest }) => (unjoined.length === 0 ? rest : { ...rest, unjoined }));
}

export async function forget(context: TickContext, uid: string): Promise<boolean> {
  if (!context.ledger.pendingDeletions.some((entry) => entry.uid === uid)) return true;
  return remember(context, (ledger) => ({
    ...ledger,
    pendingDeletions: ledger.pendingDeletions.filter((entry) => entry.uid !== uid),
  }));
}
