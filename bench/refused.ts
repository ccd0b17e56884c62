import { readsOf } from '../demo/run/uncontended.ts';
import type { PlanInput } from '../lib/client/index.ts';
import { type Bed, expectStatuses, requestsOf } from './bed.ts';
import type { Figure } from './figure.ts';
import { BATCH, nodeFor, nodeNames, ownNodes, PLACEMENTS, planOn } from './load.ts';

/** Batches that are measured, after one that is not. */
const BATCHES = 10;
const REQUESTS_PER_PLAN = 0.6;
const READS_PER_REFUSAL = 1;
const WRITES_PER_NODE = 1;

/**
 * What refusals cost: in every batch one plan of ten is refused, by one of its nodes, and by all of them; and all ten are, by
 * the same node.
 */
export async function refused(bed: Bed): Promise<Figure[]> {
  return [...(await refusedBy(bed, 1)), ...(await refusedBy(bed, PLACEMENTS)), await refusedTogether(bed)];
}

function figure(what: string, value: number, atMost: number): Figure {
  return { bench: 'refused', what, value, unit: '', atMost, kind: 'count' };
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
  const before = await bed.windowWrites(pool, full);
  const run = await bed.apply(plans.slice(BATCH));
  const writes = (await bed.windowWrites(pool, full)) - before;
  const status = refusing === PLACEMENTS ? 'rejected' : 'partial';
  expectStatuses(run.results, { applied: BATCHES * (BATCH - 1), [status]: BATCHES });
  const by = refusing === PLACEMENTS ? 'by all its nodes' : 'by one of its nodes';
  return [
    figure(
      `DynamoDB requests per plan, every tenth refused ${by}`,
      requestsOf(run.usage) / run.results.length,
      REQUESTS_PER_PLAN,
    ),
    figure(`reads per plan that is refused ${by}`, readsOf(run.usage) / BATCHES, READS_PER_REFUSAL),
    figure(
      `writes of a node's refusals per batch, every tenth refused ${by}`,
      writes / (BATCHES * refusing),
      WRITES_PER_NODE,
    ),
  ];
}

/** What it takes to count ten refusals of one node in a batch. */
async function refusedTogether(bed: Bed): Promise<Figure> {
  const pool = 'refused-together';
  const names = nodeNames(BATCH * PLACEMENTS);
  const full = nodeNames(1, 'full');
  // It would be made ineligible in the middle of it.
  await bed.berth.registerPool({ pool, settings: { tracker: { threshold: 1 + BATCH * (BATCHES + 1) } } });
  await bed.berth.registerNodes([
    ...names.map((name) => nodeFor(pool, name, BATCHES + 1)),
    ...full.map((name) => nodeFor(pool, name, 0)),
  ]);
  const plans = Array.from({ length: BATCH * (BATCHES + 1) }, (_, at) =>
    planOn(pool, at, [...full, ...ownNodes(at, names).slice(1)]),
  );
  await bed.apply(plans.slice(0, BATCH));
  const before = await bed.windowWrites(pool, full);
  const run = await bed.apply(plans.slice(BATCH));
  expectStatuses(run.results, { partial: BATCHES * BATCH });
  const writes = (await bed.windowWrites(pool, full)) - before;
  return figure("writes of a node's refusals per batch, all ten refused by it", writes / BATCHES, WRITES_PER_NODE);
}
