import * as z from 'zod/mini';
import { serviceId } from '../ids.ts';
import { integer, objectOf, oneOf, quantity } from '../schema.ts';
import { HISTORY } from '../settings.ts';
import type { EpochMs, EpochSeconds } from '../time.ts';

/** How many tasks a service wants: so many slots, one a node, and for jobs each of them once. SwarmKit's four modes. */
export const SERVICE_MODES = ['replicated', 'global', 'replicated-job', 'global-job'] as const;
export type ServiceMode = (typeof SERVICE_MODES)[number];

export function isJob(mode: ServiceMode): boolean {
  return mode === 'replicated-job' || mode === 'global-job';
}

const ATTEMPTS = 'a whole number from 0 on';

/** A number past the safe integers is meant, SwarmKit's own being 64 bits wide: it stands for as many as there can be. */
const attempts = z.pipe(
  z.number({ error: ATTEMPTS }).check(
    z.gte(0, { error: ATTEMPTS }),
    z.refine((value) => Number.isInteger(value), { error: ATTEMPTS }),
  ),
  z.transform((value) => Math.min(value, Number.MAX_SAFE_INTEGER)),
) as unknown as z.ZodMiniType<number, number>;

/** Old tasks that a slot keeps: 0 none, below 0 all. */
export const historyLimit = integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

/** What the reaper must know of a service. */
export const serviceSpecSchema = objectOf({
  serviceId,
  mode: oneOf(SERVICE_MODES),
  /** Restarts after which a slot is given up; 0, the default, is no such limit. At least one task more is kept of a slot. */
  restartMaxAttempts: z._default(attempts, 0),
  /** Old tasks that each of its slots keeps; below 0: all. Default: what the cluster keeps. */
  historyLimit: z.optional(historyLimit),
  /** The run of a job that is the present one: complete tasks of it are its progress, those of others history. Default 0. */
  jobIteration: z._default(quantity, 0),
});
export type ServiceSpecInput = z.input<typeof serviceSpecSchema>;
export type ServiceSpec = z.output<typeof serviceSpecSchema>;

/** A service as it is stored. */
export interface Service extends ServiceSpec {
  /** When it was removed. Its tasks are on their way out; a service of the same id that is set again is there again. */
  readonly removedAt?: EpochMs | undefined;
  /** When the record of a removed service may be dropped, its tasks being long gone. */
  readonly expiresAt?: EpochSeconds | undefined;
}

/**
 * Old tasks that a slot of `service` keeps at most; `Infinity`: all. The service's own limit goes before the cluster's.
 * Restart attempts only ever raise it: a restart is told from a first start by the tasks before it (SwarmKit,
 * `taskinit/init.go`), and there are one more of them than restarts.
 */
export function effectiveLimit(
  { historyLimit: own, restartMaxAttempts }: Pick<ServiceSpec, 'historyLimit' | 'restartMaxAttempts'>,
  clusterLimit: number | undefined,
): number {
  const limit = own ?? clusterLimit ?? HISTORY.limit;
  if (limit < 0) return Number.POSITIVE_INFINITY;
  return restartMaxAttempts > 0 ? Math.max(limit, restartMaxAttempts + 1) : limit;
}
