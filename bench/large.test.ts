import { expect, it } from 'vitest';
import { large } from './large.ts';

it('counts the requests that DynamoDB sees of the same plans', () => {
  // As test/faults/large-plans-in-dynamodb.test.ts finds them.
  expect(large().map(({ what, value }) => [what, value])).toEqual([
    ['5,000 placements on 1,000 nodes, node by node: transactions', 63],
    ['5,000 placements on 1,000 nodes, node by node: reads', 2],
    ['5,000 placements on 1,000 nodes, all at once: transactions', 115],
    ['5,000 placements on 1,000 nodes, all at once: reads', 62],
  ]);
});
