import { readsOf } from '../demo/run/uncontended.ts';
import type { PlanInput } from '../lib/client/index.ts';
import { type Bed, expectStatuses, requestsOf } from './bed.ts';
import type { Figure } from './figure.ts';
import { BATCH, nodeFor, nodeNames, ownNodes, PLACEMENTS, planOn } from './load.ts';

/** Batches that are measured, after one that is not. */
const BATCHES = 10;
const REQUESTS_PER_PLAN = 0.6;
const READS_PER_REFUSAL = 1;

/** What refusals cost: in every batch one plan of ten is refused, by one of its nodes, and by all of them. */
export async function refused(bed: Bed): Promise<Figure[]> {
  return [...(await refusedBy(bed, 1)), ...(await refusedBy(bed, PLACEMENTS))];
}

async function refusedBy(bed: Bed, refusing: number): Promise<Figure[]> {
  const pool = `refused-${refusing}`;
  const names = nodeNames(BATCH * PLACEMENTS);
  const full = nodeNames(refusing, 'full');
  await bed.berth.registerPool({ pool });
  await bed.berth.registerNodes([
    ...names.map((name) => nodeFor(pool, name, BATCHES + 1)),
    ...full.map((name) => nodeFor(pool, name, 0)),
  ]);
  const plans = Array.from({ length: BATCH * (BATCHES + 1) }, (_, at): PlanInput => {
    const own = ownNodes(at, names);
    // In the middle of its batch, so that what comes before it and after it is decided again.
    return planOn(pool, at, at % BATCH === BATCH / 2 ? [...full, ...own.slice(refusing)] : own);
  });
  await bed.apply(plans.slice(0, BATCH));
  const run = await bed.apply(plans.slice(BATCH));
  const status = refusing === PLACEMENTS ? 'rejected' : 'partial';
  expectStatuses(run.results, { applied: BATCHES * (BATCH - 1), [status]: BATCHES });
  const by = refusing === PLACEMENTS ? 'by all its nodes' : 'by one of its nodes';
  const figure = (what: string, value: number, atMost: number): Figure => {
    return { bench: 'refused', what, value, unit: '', atMost, kind: 'count' };
  };
  return [
    figure(
      `DynamoDB requests per plan, every tenth refused ${by}`,
      requestsOf(run.usage) / run.results.length,
      REQUESTS_PER_PLAN,
    ),
    figure(`reads per plan that is refused ${by}`, readsOf(run.usage) / BATCHES, READS_PER_REFUSAL),
  ];
}
