import { setMaxListeners } from 'node:events';
import { BOUNDS_UNCONTENDED, measureUncontended } from '../demo/run/uncontended.ts';
import { APPLIER, type Bed } from './bed.ts';
import type { Figure } from './figure.ts';

/** What the applier asks of DynamoDB without contention, measured as the demo does it. */
export async function uncontended(bed: Bed): Promise<Figure[]> {
  const { berth, engine } = bed;
  const { eventSources, meter } = engine;
  const { signal } = new AbortController();
  // Fifty plans are waited for with it, which Node takes for a leak.
  setMaxListeners(0, signal);
  const measured = await measureUncontended({
    cluster: berth,
    pool: 'uncontended',
    readMeter: () => meter.read(),
    applier: APPLIER,
    delivery: {
      pause: () => eventSources.pause(APPLIER),
      resume: () => eventSources.resume(APPLIER),
      idle: () => eventSources.idle(APPLIER),
    },
    signal,
  });
  const bounds = BOUNDS_UNCONTENDED;
  const figure = (what: string, value: number, unit: string, atMost: number): Figure => {
    return { bench: 'uncontended', what, value, unit, atMost, kind: 'count' };
  };
  return [
    figure('DynamoDB requests per plan', measured.requestsPerPlan, '', bounds.requestsPerPlan),
    figure('reads', measured.reads, '', bounds.reads),
    figure('write units per placement', measured.writeUnitsPerPlacement, 'WCU', bounds.writeUnitsPerPlacement),
  ];
}
