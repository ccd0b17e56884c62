import { TABLES, type TableName } from '../lib/store/tables.ts';
import { SettingsError } from './rules.ts';

export const DEFAULT_PREFIX = 'Berth';

/**
 * What two Berths in one account and region are told apart by. CloudFormation wants a letter first and letters, digits
 * and hyphens after it in the name of a stack; 32 characters leave room for the suffix in the shortest of the names
 * (80 characters, of a queue).
 */
const PREFIX_PATTERN = /^[A-Za-z][A-Za-z0-9-]{0,31}$/;

export type QueueName = 'plans' | 'plansDead' | 'quarantine';

/** Logical id and suffix of the physical name of each queue. Never change one: the queue would be replaced. */
export const QUEUE_IDS: { readonly [name in QueueName]: { readonly logicalId: string; readonly suffix: string } } = {
  plans: { logicalId: 'PlanQueue', suffix: 'plans.fifo' },
  plansDead: { logicalId: 'PlanDeadLetterQueue', suffix: 'plans-dead.fifo' },
  quarantine: { logicalId: 'QuarantineQueue', suffix: 'quarantine' },
};

/** `prefix` if it can begin the name of a stack, a table and a queue; throws a {@link SettingsError} otherwise. */
export function checkedPrefix(prefix: unknown): string {
  if (typeof prefix !== 'string' || !PREFIX_PATTERN.test(prefix)) {
    throw new SettingsError([
      `context value prefix is ${JSON.stringify(prefix)}; expected a letter and then up to 31 letters, digits or hyphens: ` +
        `leave it out for "${DEFAULT_PREFIX}" or pass one with -c prefix=Staging`,
    ]);
  }
  return prefix;
}

/** Physical name of a table: `Berth-Nodes`. */
export function tablePhysicalName(prefix: string, table: TableName): string {
  return `${prefix}-${TABLES[table].id}`;
}

/** Physical name of a queue: `Berth-plans.fifo`. SQS wants `.fifo` at the end of a FIFO queue's name. */
export function queuePhysicalName(prefix: string, queue: QueueName): string {
  return `${prefix}-${QUEUE_IDS[queue].suffix}`;
}

/** Logical id of the event bus. Never change it: the bus would be replaced, and the rules on it lost. */
export const EVENT_BUS_ID = 'EventBus';

/** Physical name of the event bus: the prefix itself. */
export function eventBusPhysicalName(prefix: string): string {
  return prefix;
}
