/**
 * conflict: somebody else was faster, or is at it: the next tick looks again. throttled: no more calls of that kind in
 * this tick. refused: definitely not done, and asking again at once would not help. unknown: it may have been done, or
 * may yet be. denied: no right to it, so to nothing else either.
 */
export type CallErrorKind = 'conflict' | 'throttled' | 'refused' | 'unknown' | 'denied';

/**
 * Code of what a webhook or a policy of the cluster denied: refused, of this one object. It says nothing of rights, and nothing
 * of other objects.
 */
export const ADMISSION_DENIED = 'AdmissionDenied';

/**
 * Thrown by every port for what the outside answers. That something is gone already is no error where it was to be
 * deleted: the ports answer that it is done.
 */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly kind: CallErrorKind;
  /** In the words of whoever answered: `ResourceInUseException`, `409`, `RESOURCE_EXHAUSTED`. */
  readonly code: string;

  constructor(kind: CallErrorKind, code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.code = code;
  }
}
