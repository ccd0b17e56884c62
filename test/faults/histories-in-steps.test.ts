import { it } from 'vitest';
import { holdsAtEveryStep } from '../support/followed.ts';
import { HISTORIES_MS } from '../support/tries.ts';

it(
  'no invariant is broken by plans that are committed in steps, while tasks end and nodes change',
  {
    timeout: HISTORIES_MS,
  },
  () => holdsAtEveryStep({ open: true, staged: true }),
);
