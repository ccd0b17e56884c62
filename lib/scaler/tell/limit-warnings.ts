import { listed } from '../../listed.ts';
import { SCALER } from '../../settings.ts';
import type { EpochMs } from '../../time.ts';
import type { Group } from '../observation.ts';
import type { GameServerNodeSpec } from '../spec/spec.ts';

type Timetable = Pick<GameServerNodeSpec, 'replicas' | 'schedules' | 'overrides'>;

/** What a spec asks for at some time, and what says so. */
interface Asked {
  readonly what: string;
  readonly replicas: number;
}

/**
 * What of `spec` the limits of its group will not let be, whether or not it is its turn yet: a sentence for each limit, whatever
 * the number of windows. Nothing where the provider has no limits. The sentences stay the same from tick to tick, but for
 * overrides that end.
 */
export function limitWarnings(spec: Timetable, group: Group | undefined, now: EpochMs): string[] {
  if (group === undefined || isUnmade(group)) return [];
  const { min, max } = group;
  const asked = askedBy(spec, now);
  const [above, below] = [
    asked.filter(({ replicas }) => replicas > max),
    asked.filter(({ replicas }) => replicas < min),
  ];
  return [
    ...(above.length === 0
      ? []
      : [
          `more nodes are asked for than the group's maximum of ${max}: ${namesOf(above)}. No more than ${max} will be there: raise the maximum, or ask for fewer`,
        ]),
    ...(below.length === 0
      ? []
      : [
          `fewer nodes are asked for than the group's minimum of ${min}: ${namesOf(below)}. No fewer than ${min} will be there: lower the minimum, or ask for more`,
        ]),
  ];
}

/** Of a node group that it is still making EKS may not have said the limits: they read as 0 then, and bound nothing. */
function isUnmade({ steady, max }: Group): boolean {
  return !steady && max === 0;
}

/** What is over for good will ask for nothing any more. */
function askedBy({ replicas, schedules, overrides }: Timetable, now: EpochMs): Asked[] {
  return [
    { what: 'replicas', replicas },
    ...schedules.map(({ name, replicas: of }) => ({ what: `schedule "${name}"`, replicas: of })),
    ...overrides
      .filter(({ end }) => end > now)
      .map(({ name, replicas: of }) => ({ what: `override "${name}"`, replicas: of })),
  ];
}

function namesOf(asked: readonly Asked[]): string {
  const named = asked.map(({ what, replicas }) => `${what} (${replicas})`);
  return listed(named, SCALER.namesInMessage);
}
