import type { EpochMs } from '../../lib/time.ts';
import type { ScalerBed } from './bed.ts';
import { happen } from './happen.ts';
import { countsOf, seenIn } from './run-history.ts';

/** Lets everything that is on its way come to its end, with a tick every four minutes; what is left to say against it. */
export async function afterQuietTicks(bed: ScalerBed, tick: () => Promise<unknown>): Promise<string[]> {
  const { world } = bed;
  bed.limit = undefined;
  if (world.group) world.group = { ...world.group, steady: true, terminateSuspended: false };
  for (const node of world.nodes.values()) bed.changeNode(node.name, { ready: true });
  const problems: string[] = [];
  for (let round = 0; round < 12; round++) {
    for (const { name } of world.servers.values()) bed.removeServer(name);
    happen(bed, { kind: 'clean-up' });
    happen(bed, { kind: 'join' });
    bed.now = (bed.now + 4 * 60_000) as EpochMs;
    await tick();
    problems.push(...world.log.violations);
  }
  const { active, target, held } = countsOf(seenIn(bed));
  const room = world.group === undefined ? Number.POSITIVE_INFINITY : world.group.max - held;
  const draining = [...world.nodes.values()].filter((node) => Object.keys(node.annotations).length > 0);
  if (bed.kind === 'minikube') return problems;
  if (active !== Math.min(target, room))
    problems.push(`${active} are active of ${target}, ${held} are held, room ${room}`);
  if (draining.length > 0) problems.push(`nodes are left draining: ${draining.map(({ name }) => name).join(', ')}`);
  if (world.ledger.pendingDeletions.length > 0) problems.push('the ledger is not empty');
  return problems;
}
