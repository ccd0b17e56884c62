import { GetItemCommand, PutItemCommand, ScanCommand, type ScanCommandOutput } from '@aws-sdk/client-dynamodb';
import { ulid } from 'ulid';
import type { ServiceId } from '../ids.ts';
import { parsed } from '../schema.ts';
import { HISTORY, SWEEPER } from '../settings.ts';
import { type Item, marshall, unmarshall } from '../store/dynamo.ts';
import { CLUSTER_KEY } from '../store/keys.ts';
import { clusterLimitFromItem, serviceFromItem, serviceItem } from '../store/services.ts';
import { sendPage } from '../store/sweep-store.ts';
import {
  effectiveLimit,
  historyLimit,
  type Service,
  type ServiceSpec,
  type ServiceSpecInput,
  serviceSpecSchema,
} from '../tasks/service.ts';
import { type SlotRange, type SweepPageInput, slotRanges } from '../tasks/sweep.ts';
import { expiryAfter } from '../time.ts';
import type { Connection } from './connection.ts';
import { retrying } from './retrying.ts';

/** What setting a service, or what the cluster keeps, has come to. */
export interface LimitChange<T> {
  readonly set: T;
  /** The sweep that brings slots to a lower limit; undefined where no slot can lose anything by the change. */
  readonly sweepId: string | undefined;
}

/** The service as it is set; undefined: it never was. One that was removed has `removedAt`. */
async function readService({ dynamo, servicesTable }: Connection, serviceId: ServiceId): Promise<Service | undefined> {
  const command = new GetItemCommand({
    TableName: servicesTable(),
    Key: marshall({ serviceId }),
    ConsistentRead: true,
  });
  const { Item } = await retrying(() => dynamo.send(command));
  return Item && serviceFromItem(unmarshall(Item));
}

/** Every service that is set, by name; those that were removed lately too. */
export async function readServices({ dynamo, servicesTable }: Connection): Promise<Service[]> {
  const services: Service[] = [];
  let start: ScanCommandOutput['LastEvaluatedKey'];
  do {
    const page: ScanCommandOutput = await retrying(() =>
      dynamo.send(
        new ScanCommand({
          TableName: servicesTable(),
          ConsistentRead: true,
          ...(start ? { ExclusiveStartKey: start } : {}),
        }),
      ),
    );
    // Beside services the table holds what is the cluster's own, under keys with a `#`.
    const items = (page.Items ?? []).map((item) => unmarshall(item));
    for (const item of items) if (!String(item.serviceId).startsWith('#')) services.push(serviceFromItem(item));
    start = page.LastEvaluatedKey;
  } while (start);
  return services.sort((a, b) => (a.serviceId < b.serviceId ? -1 : 1));
}

/**
 * Sets a service, in place of what it was. Slots are swept that may keep too much now; set again unchanged, they are swept
 * again, so that a call that broke off can be repeated. Only a higher limit sweeps nothing.
 */
export async function setService(connection: Connection, input: ServiceSpecInput): Promise<LimitChange<ServiceSpec>> {
  const spec = parsed(serviceSpecSchema, input, 'the service');
  const before = await readService(connection, spec.serviceId);
  const clusterLimit = await readHistoryLimit(connection);
  await put(connection, serviceItem(spec));
  const kept =
    before && before.removedAt === undefined ? effectiveLimit(before, clusterLimit) : Number.POSITIVE_INFINITY;
  const keeps = effectiveLimit(spec, clusterLimit);
  const more = keeps > kept || keeps === Number.POSITIVE_INFINITY;
  const sweepId = more ? undefined : await startSweep(connection, { reason: 'limit', serviceId: spec.serviceId });
  return { set: spec, sweepId };
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
export async function readHistoryLimit({ dynamo, servicesTable }: Connection): Promise<number | undefined> {
  const command = new GetItemCommand({
    TableName: servicesTable(),
    Key: marshall({ serviceId: CLUSTER_KEY }),
    ConsistentRead: true,
  });
  const { Item } = await retrying(() => dynamo.send(command));
  return Item && clusterLimitFromItem(unmarshall(Item));
}

/** Sets what the cluster keeps; null: the default. All slots are swept unless that is more than before. */
export async function setHistoryLimit(
  connection: Connection,
  input: number | null,
): Promise<LimitChange<number | undefined>> {
  const limit = input === null ? undefined : parsed(historyLimit, input, 'the history limit');
  const before = await readHistoryLimit(connection);
  await put(connection, { serviceId: CLUSTER_KEY, historyLimit: limit });
  const kept = (of: number | undefined) =>
    of !== undefined && of < 0 ? Number.POSITIVE_INFINITY : (of ?? HISTORY.limit);
  const more = kept(limit) > kept(before) || kept(limit) === Number.POSITIVE_INFINITY;
  return { set: limit, sweepId: more ? undefined : await startSweep(connection, { reason: 'limit' }) };
}

async function put({ dynamo, servicesTable }: Connection, item: Item): Promise<void> {
  await retrying(() => dynamo.send(new PutItemCommand({ TableName: servicesTable(), Item: marshall(item) })));
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
