/**
 * What a tick has to say of a pool that is not as it should be, each the reason of condition Degraded=True. The order is
 * that of weight: a condition has room for one reason, and gets the first.
 */
export const DEGRADED_REASONS = [
  'ObservationFailed',
  'Unknown',
  'TerminateRefused',
  'TerminateSuspended',
  'AccessDenied',
  'AdmissionDenied',
  'NodesNotJoining',
  'AtProviderMaximum',
  'CapacityShortage',
  'BelowProviderMinimum',
  'NodeNotInGroup',
  'NodesShareMachine',
  'LeftCordoned',
  'RegistrationFailed',
  'DrainBlocked',
] as const;

export type DegradedReason = (typeof DEGRADED_REASONS)[number];

export interface Finding {
  readonly reason: DegradedReason;
  /** What, where, and what to do about it. */
  readonly message: string;
}
