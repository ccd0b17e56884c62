import { describe } from 'vitest';
import { largePlanFaults } from '../support/large-plan-faults.ts';

// In a file of its own, so that it is tried beside the other one.
describe('a plan of 5,000 placements on 1,000 nodes, all at once', () => {
  largePlanFaults(true);
});
