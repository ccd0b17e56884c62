import { DEFAULT_PREFIX, isPrefix, PREFIX_EXPECTED } from '../lib/store/tables.ts';
import { SettingsError } from './rules.ts';

export {
  DEFAULT_PREFIX,
  QUEUE_IDS,
  type QueueName,
  queuePhysicalName,
  tablePhysicalName,
} from '../lib/store/tables.ts';

/** `prefix` if it can begin the name of a stack, a table and a queue; throws a {@link SettingsError} otherwise. */
export function checkedPrefix(prefix: unknown): string {
  if (!isPrefix(prefix)) {
    throw new SettingsError([
      `context value prefix is ${JSON.stringify(prefix)}; expected ${PREFIX_EXPECTED}: ` +
        `leave it out for "${DEFAULT_PREFIX}" or pass one with -c prefix=Staging`,
    ]);
  }
  return prefix;
}

/** Logical id of the event bus. Never change it: the bus would be replaced, and the rules on it lost. */
export const EVENT_BUS_ID = 'EventBus';

/** Physical name of the event bus: the prefix itself. */
export function eventBusPhysicalName(prefix: string): string {
  return prefix;
}

/** Name under which the state stack exports the ARN of the tasks' stream, the one thing that no name tells. */
export function tasksStreamExport(prefix: string): string {
  return `${prefix}-TasksStreamArn`;
}
