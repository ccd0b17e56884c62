import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import type { PlanEvent } from '../plans/events.ts';
import { abortable } from './requests.ts';

/** What begins every rule's pattern: `{"source": ["berth"]}`. */
const SOURCE = 'berth';
/** Entries of one PutEvents. */
const MOST_ENTRIES = 10;

/** Puts events onto the bus. Throws if one of them did not get there: whoever asked does so again, and consumers see some twice. */
export async function putEvents(
  client: EventBridgeClient,
  bus: string,
  events: readonly PlanEvent[],
  signal?: AbortSignal,
): Promise<void> {
  for (let at = 0; at < events.length; at += MOST_ENTRIES) {
    const Entries = events.slice(at, at + MOST_ENTRIES).map(({ type, detail }) => ({
      EventBusName: bus,
      Source: SOURCE,
      DetailType: type,
      Time: new Date(detail.appliedAt),
      Detail: JSON.stringify(detail),
    }));
    const answer = await client.send(new PutEventsCommand({ Entries }), abortable(signal));
    const failed = answer.Entries?.find(({ ErrorCode }) => ErrorCode !== undefined);
    if (failed || (answer.FailedEntryCount ?? 0) > 0) {
      throw new Error(
        `the event bus ${bus} refused ${answer.FailedEntryCount} events: ${failed?.ErrorCode} ${failed?.ErrorMessage}`,
      );
    }
  }
}
