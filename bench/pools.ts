import { type Bed, expectStatuses, requestsOf } from './bed.ts';
import type { Figure } from './figure.ts';
import { BATCH, nodeFor, nodeNames, ownNodes, PLACEMENTS, planOn } from './load.ts';

const POOLS = [1, 4, 16];
/** Plans of each measurement, over all pools. */
const PLANS = 320;

/** Plans a second through the whole stack, for one line of plans and for several side by side. */
export async function pools(bed: Bed): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const count of POOLS) figures.push(...(await throughput(bed, count)));
  return figures;
}

async function throughput(bed: Bed, count: number): Promise<Figure[]> {
  const names = nodeNames(BATCH * PLACEMENTS);
  const each = PLANS / count;
  const poolNames = Array.from({ length: count }, (_, at) => `pools-${count}-${at}`);
  for (const pool of poolNames) {
    await bed.berth.registerPool({ pool });
    await bed.berth.registerNodes(names.map((name) => nodeFor(pool, name, PLANS)));
  }
  const plansFrom = (first: number, many: number) =>
    Array.from({ length: many }, (_, at) =>
      poolNames.map((pool) => planOn(pool, first + at, ownNodes(first + at, names))),
    ).flat();
  await bed.apply(plansFrom(0, BATCH));
  const run = await bed.apply(plansFrom(BATCH, each));
  expectStatuses(run.results, { applied: PLANS });
  const perSecond = PLANS / run.seconds;
  const title = count === 1 ? '1 pool' : `${count} pools`;
  const figure = (what: string, value: number, unit: string, kind: Figure['kind']): Figure => {
    return { bench: 'pools', what: `${title}: ${what}`, value, unit, kind };
  };
  return [
    figure('plans a second', perSecond, '/s', 'clock'),
    figure('placements a second', perSecond * PLACEMENTS, '/s', 'clock'),
    figure('plans per invocation', PLANS / run.invocations, '', 'count'),
    figure('DynamoDB requests per plan', requestsOf(run.usage) / PLANS, '', 'count'),
  ];
}
