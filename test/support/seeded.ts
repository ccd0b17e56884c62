import fc from 'fast-check';
import { RUN_SEED } from './tries.ts';

// Before every file of tests: what fast-check draws is the same in every run.
if (RUN_SEED !== undefined) fc.configureGlobal({ seed: RUN_SEED });
