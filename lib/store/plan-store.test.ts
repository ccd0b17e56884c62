import * as fc from 'fast-check';
import { afterAll, beforeAll, describe } from 'vitest';
import { type Database, startDatabase } from '../../test/support/database.ts';
import { dynamoContractBed } from '../../test/support/dynamo-bed.ts';
import { type Fault, faultsInTurn } from '../../test/support/faults.ts';
import { planStoreContract } from '../../test/support/plan-store-contract.ts';

let database: Database;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database.stop());

describe('the store in DynamoDB', () => {
  planStoreContract(async () => dynamoContractBed(database));
});

describe('the store in DynamoDB, while requests fail', () => {
  const faults = fc.constantFrom<Fault | undefined>(
    ...(['conflict', 'throttled', 'partly-throttled', 'nothing-processed'] as const),
    ...(['server-error', 'lost-before', 'lost-after', 'lost-after', undefined, undefined] as const),
  );
  let seed = 0;
  planStoreContract(async () =>
    dynamoContractBed(database, faultsInTurn(fc.sample(faults, { seed: ++seed, numRuns: 6 }))),
  );
});
