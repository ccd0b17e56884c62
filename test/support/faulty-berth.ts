import { type Berth, berthOver } from '../../lib/client/berth.ts';
import type { BerthBed } from './berth-bed.ts';
import type { FaultScript } from './faults.ts';
import { type FaultyClient, faultyClient } from './faulty-client.ts';

/** Berth to whose requests to the database the faults of `script` happen. */
export function faultyBerth({ connection }: BerthBed, script?: FaultScript): { berth: Berth } & FaultyClient {
  const faulty = faultyClient(connection.dynamo, script);
  // Its own memory of pools: what it asks for is not to depend on what others have asked for.
  return { ...faulty, berth: berthOver({ ...connection, dynamo: faulty.client, shards: new Map() }) };
}
