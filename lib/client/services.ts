import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { ulid } from 'ulid';
import type { ServiceId } from '../ids.ts';
import { parsed } from '../schema.ts';
import { SWEEPER } from '../settings.ts';
import { type Item, marshall, unmarshall } from '../store/dynamo.ts';
import { CLUSTER_KEY } from '../store/keys.ts';
import { clusterLimitFromItem, readClusterItem, readServiceItem, serviceItem } from '../store/services.ts';
import { sendPage } from '../store/sweep-store.ts';
import type { Malformed } from '../tasks/reap.ts';
import {
  effectiveLimit,
  historyLimit,
  isJob,
  type Service,
  type ServiceSpec,
  type ServiceSpecInput,
  serviceSpecSchema,
} from '../tasks/service.ts';
import { type SlotRange, type SweepPageInput, slotRanges } from '../tasks/sweep.ts';
import { expiryAfter } from '../time.ts';
import type { Connection } from './connection.ts';
import { retrying } from './retrying.ts';
import { scanned } from './scan.ts';

/** What setting a service, or what the cluster keeps, has come to. */
export interface LimitChange<T> {
  readonly set: T;
  /** The sweep that brings slots to a lower limit; undefined where no slot can lose anything by the change. */
  readonly sweepId: string | undefined;
}

/**
 * The service as it is set; undefined: it never was, or what is stored cannot be read and is to be set anew. One that was
 * removed has `removedAt`.
 */
async function readService(connection: Connection, serviceId: ServiceId): Promise<Service | undefined> {
  const item = await readRecord(connection, serviceId);
  return item && serviceIn(item);
}

/** A record of the table of services: of a service, of the cluster, of a sweep. */
export async function readRecord({ dynamo, servicesTable }: Connection, key: string): Promise<Item | undefined> {
  const command = new GetItemCommand({
    TableName: servicesTable(),
    Key: marshall({ serviceId: key }),
    ConsistentRead: true,
  });
  const { Item } = await retrying(() => dynamo.send(command));
  return Item && unmarshall(Item);
}

function serviceIn(item: Item): Service | undefined {
  const found = readServiceItem(item);
  return 'problem' in found ? undefined : found;
}

export interface ServicesOptions {
  /** Told of each record that is not of its shape, the one of the cluster's limit included. They are left out. */
  readonly onMalformed?: (record: Malformed) => void;
}

/** Every service that is set, by name; those that were removed lately too. */
export async function readServices(
  connection: Connection,
  { onMalformed = () => undefined }: ServicesOptions = {},
): Promise<Service[]> {
  const services: Service[] = [];
  for await (const item of scanned(connection, { TableName: connection.servicesTable() })) {
    // Beside services the table holds what is the cluster's own, under keys with a `#`.
    const isService = !String(item.serviceId).startsWith('#');
    if (!isService && item.serviceId !== CLUSTER_KEY) continue;
    const found = isService ? readServiceItem(item) : readClusterItem(item);
    if ('problem' in found) onMalformed(found);
    else if (isService) services.push(found as Service);
  }
  return services.sort((a, b) => (a.serviceId < b.serviceId ? -1 : 1));
}

/**
 * Sets a service, in place of what it was. Slots are swept that may keep too much now; set again unchanged, they are swept
 * again, so that a call that broke off can be repeated. Only what is sure to keep as much sweeps nothing.
 */
export async function setService(connection: Connection, input: ServiceSpecInput): Promise<LimitChange<ServiceSpec>> {
  const spec = parsed(serviceSpecSchema, input, 'the service');
  const clusterLimit = await readHistoryLimit(connection);
  const replaced = await put(connection, serviceItem(spec));
  const before = replaced && serviceIn(replaced);
  const sweeps = before === undefined || mayKeepLess(spec, before, clusterLimit);
  const sweepId = sweeps ? await startSweep(connection, { reason: 'limit', serviceId: spec.serviceId }) : undefined;
  return { set: spec, sweepId };
}

/** Whether slots that keep what they are to keep by `before` may keep too much by `spec`. */
function mayKeepLess(spec: ServiceSpec, before: Service, clusterLimit: number | undefined): boolean {
  const keeps = effectiveLimit(spec, clusterLimit);
  if (keeps === Number.POSITIVE_INFINITY) return false;
  if (before.removedAt !== undefined || keeps <= effectiveLimit(before, clusterLimit)) return true;
  // Complete tasks of the iteration before were progress, which no limit touches, and are history now.
  return spec.mode !== before.mode || (isJob(spec.mode) && spec.jobIteration !== before.jobIteration);
}

/**
 * Removes a service: all its tasks go, history included, those that an agent may have as soon as it reports their end.
 * Answers the sweep that sees to it. A removed service that is removed again is swept again.
 */
export async function removeService(connection: Connection, serviceId: ServiceId): Promise<string> {
  const before = await readService(connection, serviceId);
  const now = connection.clock();
  const service: Service = {
    // Nobody may have told of the service. What of it is to go is told by its tasks, not by this.
    ...(before ?? { serviceId, mode: 'replicated', restartMaxAttempts: 0, jobIteration: 0 }),
    removedAt: before?.removedAt ?? now,
    expiresAt: expiryAfter(now, SWEEPER.removedServiceSeconds),
  };
  await put(connection, serviceItem(service));
  return startSweep(connection, { reason: 'service-removed', serviceId });
}

/** Has all tasks of these slots go, history included. Answers the sweep that sees to it. */
export async function scaleService(
  connection: Connection,
  serviceId: ServiceId,
  input: readonly (readonly [number, number])[],
): Promise<string> {
  const slots = parsed(slotRanges, input, 'the slots that are scaled away') as SlotRange[];
  return startSweep(connection, { reason: 'scaled-away', serviceId, slots });
}

/** Old tasks that a slot keeps whose service says nothing of it. */
export async function readHistoryLimit(connection: Connection): Promise<number | undefined> {
  const item = await readRecord(connection, CLUSTER_KEY);
  return item && clusterLimitFromItem(item);
}

/** Sets what the cluster keeps; null: the default. All slots are swept unless that is more than before. */
export async function setHistoryLimit(
  connection: Connection,
  input: number | null,
): Promise<LimitChange<number | undefined>> {
  const limit = input === null ? undefined : parsed(historyLimit, input, 'the history limit');
  const replaced = await put(connection, { serviceId: CLUSTER_KEY, historyLimit: limit });
  const before = replaced && clusterLimitFromItem(replaced);
  const kept = (of: number | undefined) => effectiveLimit({ historyLimit: of, restartMaxAttempts: 0 }, undefined);
  const more = kept(limit) > kept(before) || kept(limit) === Number.POSITIVE_INFINITY;
  return { set: limit, sweepId: more ? undefined : await startSweep(connection, { reason: 'limit' }) };
}

/**
 * Writes a record; answers what it took the place of, as it was at that moment: compared with what was read before, two that
 * set a limit at once could both believe that they had raised it.
 */
async function put({ dynamo, servicesTable }: Connection, item: Item): Promise<Item | undefined> {
  const command = new PutItemCommand({
    TableName: servicesTable(),
    Item: marshall(item),
    ReturnValues: 'ALL_OLD',
  });
  const { Attributes } = await retrying(() => dynamo.send(command));
  return Attributes && unmarshall(Attributes);
}

/** Sends the first page of a sweep. Answers its id. */
export async function startSweep(
  { sqs, queueUrl }: Connection,
  what: Pick<SweepPageInput, 'reason' | 'serviceId' | 'slots'>,
): Promise<string> {
  const sweepId = ulid();
  const page: SweepPageInput = { apiVersion: 'berth/v1', kind: 'SweepPage', sweepId, ...what };
  await retrying(() => sendPage(sqs, queueUrl('sweep'), page));
  return sweepId;
}
