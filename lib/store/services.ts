import * as z from 'zod/mini';
import type { ServiceId } from '../ids.ts';
import { clip } from '../schema.ts';
import type { Malformed, ServiceBook } from '../tasks/reap.ts';
import { historyLimit, type Service, serviceSpecSchema } from '../tasks/service.ts';
import type { Item } from './dynamo.ts';
import { CLUSTER_KEY } from './keys.ts';
import { storedMs, storedSeconds } from './stored.ts';

/** Services, and what the cluster sets for all of them, as items and back. */

const serviceSchema = z.object({
  ...serviceSpecSchema.shape,
  removedAt: z.optional(storedMs),
  expiresAt: z.optional(storedSeconds),
});
const clusterSchema = z.object({ historyLimit: z.optional(historyLimit) });

/** What stands for a limit of the cluster that cannot be read: history that is kept too long is no harm, one that is lost is. */
const KEEP_ALL = -1;

export function serviceItem(service: Service): Item {
  return { ...service };
}

/** The service that `item` holds, or what is wrong with it. */
export function readServiceItem(item: Item): Service | Malformed {
  const id = String(item.serviceId);
  return read(
    serviceSchema,
    item,
    `service ${id}`,
    `its slots keep their whole history; set it anew: berth service set ${id}`,
  );
}

/** Old tasks that a slot keeps whose service says nothing of it; undefined: the default. What is malformed keeps all. */
export function clusterLimitFromItem(item: Item): number | undefined {
  const found = readClusterItem(item);
  return 'problem' in found ? KEEP_ALL : found.historyLimit;
}

/** What the cluster sets, or what is wrong with it. */
export function readClusterItem(item: Item): z.output<typeof clusterSchema> | Malformed {
  const effect = 'slots keep their whole history where no service says otherwise; set it anew: berth service default';
  return read(clusterSchema, item, 'settings of the cluster', effect);
}

/**
 * What items of the table of services show: those of services that were asked for, and that of the cluster. One that is
 * not of its shape is told of and counts as unknown, so that no history is lost by it and the slots of others are done.
 */
export function bookOf(items: readonly Item[]): ServiceBook {
  const services = new Map<ServiceId, Service | 'removed'>();
  const malformed: Malformed[] = [];
  let clusterLimit: number | undefined;
  for (const item of items) {
    if (item.serviceId === CLUSTER_KEY) {
      const found = readClusterItem(item);
      if ('problem' in found) malformed.push(found);
      clusterLimit = clusterLimitFromItem(item);
    } else {
      const found = readServiceItem(item);
      if ('problem' in found) malformed.push(found);
      else services.set(found.serviceId, found.removedAt === undefined ? found : 'removed');
    }
  }
  return { services, clusterLimit, malformed };
}

function read<S extends z.ZodMiniType>(schema: S, item: Item, what: string, effect: string): z.output<S> | Malformed {
  const outcome = schema.safeParse(item);
  if (outcome.success) return outcome.data;
  const key = clip(what, 300);
  return { key, problem: clip(`not of its shape, so that ${effect}. ${z.prettifyError(outcome.error)}`, 400) };
}
