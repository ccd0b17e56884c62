import * as z from 'zod/mini';
import { parsed } from '../../lib/schema.ts';
import { SCALER } from '../../lib/settings.ts';
import { type EpochMs, isoTime } from '../../lib/time.ts';

const TIME = 'a time as in RFC 3339, such as 2027-03-01T08:00:00Z';

const tickEvent = z.object(
  {
    apiVersion: z.literal('berth/v1', { error: '"berth/v1"' }),
    kind: z.literal('ScalerTick', { error: '"ScalerTick"' }),
    scheduledTime: z.iso.datetime({ offset: true, error: TIME }),
  },
  { error: 'the event of the schedule, {"apiVersion":"berth/v1","kind":"ScalerTick","scheduledTime":"…"}' },
);

/**
 * The time at which the tick of `event` was due. Throws InvalidInputError; also for a time that is far ahead of `now`,
 * behind which every tick up to it would count as past.
 */
export function readTick(event: unknown, now: EpochMs): EpochMs {
  const { scheduledTime } = parsed(tickEvent, event, 'the event');
  const scheduledAt = Date.parse(scheduledTime) as EpochMs;
  if (scheduledAt - now <= SCALER.tickSeconds * 1000) return scheduledAt;
  throw new Error(
    `scheduledTime is ${scheduledTime}, and it is ${isoTime(now)} only: a tick that comes so much too soon would keep all others from being run until then. Send the present time`,
  );
}
