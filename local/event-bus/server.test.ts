import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { afterEach, expect, test } from 'vitest';
import { type BusEvent, type EventBusServer, startEventBus } from './server.ts';

let server: EventBusServer | undefined;
afterEach(() => server?.close());

function client(endpoint: string): EventBridgeClient {
  return new EventBridgeClient({ endpoint, maxAttempts: 1 });
}

test('what a client puts onto the bus is shown, each event once, and answered with an id', async () => {
  const seen: BusEvent[] = [];
  server = await startEventBus((event) => seen.push(event));
  const entry = (n: number) => ({
    EventBusName: 'Berth',
    Source: 'berth',
    DetailType: 'Test',
    Detail: JSON.stringify({ n }),
  });
  const answer = await client(server.url).send(new PutEventsCommand({ Entries: [entry(1), entry(2)] }));
  expect(answer.FailedEntryCount).toBe(0);
  expect(new Set(answer.Entries?.map(({ EventId }) => EventId)).size).toBe(2);
  expect(seen).toEqual([
    { bus: 'Berth', source: 'berth', detailType: 'Test', detail: { n: 1 } },
    { bus: 'Berth', source: 'berth', detailType: 'Test', detail: { n: 2 } },
  ]);
});

test('an entry that is no event is refused with the reason', async () => {
  const seen: BusEvent[] = [];
  server = await startEventBus((event) => seen.push(event));
  const put = client(server.url).send(
    new PutEventsCommand({
      Entries: [{ EventBusName: 'Berth', Source: 'berth', DetailType: 'Test', Detail: 'no JSON' }],
    }),
  );
  await expect(put).rejects.toThrow('JSON');
  expect(seen).toEqual([]);
});
