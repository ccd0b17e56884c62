import { A, B, type BlindCase, holding, release, take } from './blind-case.ts';

const VOLUME = 'volume/data';

/** Volumes, held by one task or shared by several. */
export const VOLUME_CASES: readonly BlindCase[] = [
  { name: 'takes a volume alone', change: { claims: { [VOLUME]: take } }, after: { claims: { [VOLUME]: A } } },
  {
    name: 'is refused a volume that another holds alone',
    holds: holding({ [VOLUME]: B }),
    change: { claims: { [VOLUME]: take } },
    after: 'refused',
  },
  {
    name: 'is refused to hold alone what others share',
    holds: holding({}, { [VOLUME]: ['b'] }),
    change: { claims: { [VOLUME]: take } },
    after: 'refused',
  },
  {
    name: 'gives a volume back',
    holds: holding({ [VOLUME]: A }),
    change: { claims: { [VOLUME]: release } },
    after: { claims: { [VOLUME]: null } },
  },
  {
    name: 'shares a volume that nobody holds',
    change: { joins: { [VOLUME]: ['a', 'b'] } },
    after: { sharers: { [VOLUME]: ['a', 'b'] } },
  },
  {
    name: 'joins those who share a volume',
    holds: holding({}, { [VOLUME]: ['b'] }),
    change: { joins: { [VOLUME]: ['a'] } },
    after: { sharers: { [VOLUME]: ['a', 'b'] } },
  },
  {
    name: 'is refused to share what another holds alone',
    holds: holding({ [VOLUME]: B }),
    change: { joins: { [VOLUME]: ['a'] } },
    after: 'refused',
  },
  {
    name: 'leaves a volume to those who still share it',
    holds: holding({}, { [VOLUME]: ['a', 'b'] }),
    change: { leaves: { [VOLUME]: ['a'] } },
    after: { sharers: { [VOLUME]: ['b'] } },
  },
  {
    name: 'leaves a volume that nobody shares afterwards',
    holds: holding({}, { [VOLUME]: ['a', 'b'] }),
    change: { leaves: { [VOLUME]: ['a', 'b'] } },
    after: { sharers: { [VOLUME]: null } },
  },
];
