import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { accountOf } from '../../lib/nodes/account.ts';
import type { Pool } from '../../lib/nodes/pool.ts';
import { accountItem, accountKey, profileKey } from '../../lib/store/account-item.ts';
import { marshall } from '../../lib/store/dynamo.ts';
import { planStore } from '../../lib/store/plan-store.ts';
import { poolItem, taskItem } from '../../lib/store/records.ts';
import type { Database } from './database.ts';
import { readWorld } from './dynamo-state.ts';
import { type FaultScript, noFaults } from './faults.ts';
import { faultyClient } from './faulty-client.ts';
import type { History } from './histories.ts';
import { settingsOf } from './memory-bed.ts';
import type { ContractBed } from './plan-store-contract.ts';
import { poolOf } from './plans.ts';
import type { Bed } from './run-history.ts';
import type { World } from './summary.ts';

/** The store over a database, with the faults of `script` in between. What a test starts from is put past the faults. */
export function dynamoContractBed({ client, tables }: Database, script: FaultScript = noFaults): ContractBed {
  let known: Pool | undefined;
  const put = (table: string, item: object) =>
    client.send(new PutItemCommand({ TableName: table, Item: marshall(item) }));
  return {
    store: planStore(faultyClient(client, script).client, tables),
    async put({ pool = known, accounts = [], tasks = [] }) {
      if (!pool) throw new Error('a pool must be put first');
      if (pool !== known) await put(tables.pools, poolItem(pool));
      known = pool;
      const { pool: name, shards } = pool;
      await Promise.all([
        ...accounts.flatMap((account) => [
          put(tables.nodes, accountItem(accountKey(name, shards, account.nodeId), account)),
          put(tables.nodes, { ...profileKey(name, shards, account.nodeId), events: [] }),
        ]),
        ...tasks.map((task) => put(tables.tasks, taskItem(task))),
      ]);
    },
  };
}

export interface DynamoBed extends Bed {
  /** Requests that were sent since the bed was made, in order. */
  readonly requests: string[];
  world(): Promise<World>;
}

/** A bed for histories in a database, the nodes of `history` put in it. */
export async function dynamoBed(database: Database, history: History): Promise<DynamoBed> {
  const pool = poolOf(history.pool, { settings: settingsOf(history) });
  await dynamoContractBed(database).put({ pool, accounts: history.nodes.map((node) => accountOf(node)) });
  return openDynamoBed(database, history);
}

/** The same, for nodes that are there already. */
export function openDynamoBed(database: Database, history: History): DynamoBed {
  const pool = poolOf(history.pool, { settings: settingsOf(history) });
  const plans = history.batches.flatMap((batch) => batch.plans.map(({ planId }) => planId));
  const requests: string[] = [];
  return {
    requests,
    open(script) {
      const { client, killed } = faultyClient(database.client, (request) => {
        requests.push(request.name);
        return script(request);
      });
      return { store: planStore(client, database.tables), killed };
    },
    async meanwhile({ kind }) {
      throw new Error(`in a database nobody else does a thing such as ${kind}`);
    },
    world: () => readWorld(database, pool, plans),
  };
}
