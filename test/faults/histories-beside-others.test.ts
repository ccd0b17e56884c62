import { it } from 'vitest';
import { holdsAtEveryStep } from '../support/followed.ts';
import { HISTORIES_MS } from '../support/tries.ts';

it(
  'no invariant is broken at any step of any history, while tasks end and nodes change',
  {
    timeout: HISTORIES_MS,
  },
  () => holdsAtEveryStep({ open: true }),
);
