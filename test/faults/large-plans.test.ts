import { describe } from 'vitest';
import { largePlanFaults } from '../support/large-plan-faults.ts';

describe('a plan of 5,000 placements on 1,000 nodes, node by node', () => {
  largePlanFaults(false);
});
