import { A, B, type BlindCase, holding, PORT, pass, release, take } from './blind-case.ts';

const MOST = 96 * 1024;

/** Of the bytes for ports and volumes, `left` are free: the rest goes to one that `b` holds, and one that two share. */
const crowded = (left: number) => {
  const shared = 'volume/s';
  const bytes = MOST - left - 2 * (shared.length + 1 + 3);
  const name = (at: number, length: number) => `volume/${`${at}`.padStart(length - 'volume/'.length - 1 - 3, 'v')}`;
  const long = Array.from({ length: Math.floor(bytes / 1000) }, (_, at) =>
    name(at, at === 0 ? 1000 + (bytes % 1000) : 1000),
  );
  return holding(Object.fromEntries(long.map((key) => [key, B])), { [shared]: ['c', 'd'] });
};

/** The room that the names of ports and volumes take. */
export const NAME_CASES: readonly BlindCase[] = [
  {
    name: 'takes as much room for names as there is',
    holds: crowded(20),
    change: { named: { net: 20, need: 20 }, claims: { [PORT]: take } },
    after: { claims: { [PORT]: A } },
  },
  {
    name: 'is refused a byte more for names than there is',
    holds: crowded(19),
    change: { named: { net: 20, need: 20 }, claims: { [PORT]: take } },
    after: 'refused',
  },
  {
    name: 'is refused the room for names that only comes free afterwards',
    holds: crowded(19),
    change: { named: { net: 0, need: 20 } },
    after: 'refused',
  },
  {
    name: 'takes the room for names that it gives back first',
    holds: (account) => holding({ [PORT]: B }, { 'volume/s': ['c', 'd'] })(crowded(20)(account)),
    change: { named: { net: 0, need: 0 }, claims: { [PORT]: pass } },
    after: { claims: { [PORT]: A } },
  },
  {
    name: 'gives back room for names where there is less than none',
    holds: (account) => holding({ [PORT]: A }, { 'volume/s': ['c', 'd'] })(crowded(0)(account)),
    change: { named: { net: -20 }, claims: { [PORT]: release } },
    after: { claims: { [PORT]: null } },
  },
];
