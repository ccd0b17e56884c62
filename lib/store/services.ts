import * as z from 'zod/mini';
import type { ServiceId } from '../ids.ts';
import type { ServiceBook } from '../tasks/reap.ts';
import { historyLimit, type Service, serviceSpecSchema } from '../tasks/service.ts';
import type { EpochMs, EpochSeconds } from '../time.ts';
import type { Item } from './dynamo.ts';
import { BugError } from './errors.ts';
import { CLUSTER_KEY } from './keys.ts';

/** Services, and what the cluster sets for all of them, as items and back. */

const serviceSchema = z.object({
  ...serviceSpecSchema.shape,
  removedAt: z.optional(z.custom<EpochMs>((value) => Number.isSafeInteger(value))),
  expiresAt: z.optional(z.custom<EpochSeconds>((value) => Number.isSafeInteger(value))),
});
const clusterSchema = z.object({ historyLimit: z.optional(historyLimit) });

export function serviceItem(service: Service): Item {
  return { ...service };
}

export function serviceFromItem(item: Item): Service {
  return checked(serviceSchema, item, `service ${String(item.serviceId)}`);
}

/** Old tasks that a slot keeps whose service says nothing of it; undefined: the default. */
export function clusterLimitFromItem(item: Item): number | undefined {
  return checked(clusterSchema, item, 'settings of the cluster').historyLimit;
}

/** What items of the table of services show: those of services that were asked for, and that of the cluster. */
export function bookOf(items: readonly Item[]): ServiceBook {
  const services = new Map<ServiceId, Service | 'removed'>();
  let clusterLimit: number | undefined;
  for (const item of items) {
    if (item.serviceId === CLUSTER_KEY) {
      clusterLimit = clusterLimitFromItem(item);
    } else {
      const service = serviceFromItem(item);
      services.set(service.serviceId, service.removedAt === undefined ? service : 'removed');
    }
  }
  return { services, clusterLimit };
}

/** A record that is not of its shape stops what asks for it: history that is kept too long is no harm, one that is lost is. */
function checked<S extends z.ZodMiniType>(schema: S, item: Item, what: string): z.output<S> {
  const outcome = schema.safeParse(item);
  if (outcome.success) return outcome.data;
  throw new BugError(`the stored ${what} is not of its shape: ${z.prettifyError(outcome.error)}`);
}
