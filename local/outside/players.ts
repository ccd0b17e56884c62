import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject } from '../kubernetes/kube-object.ts';
import { isBeingDeleted, stateOf } from './cluster-objects.ts';
import type { Fleets } from './fleets.ts';

/** Seconds from one game's begin to the next one's, and those that a game lasts: four go on at a time. */
const EVERY_SECONDS = 45;
const GAME_SECONDS = 180;

/**
 * Lets players do what is due at `now`: games that have lasted long enough end, and one begins if the last one began long
 * enough ago and a server is Ready. A server that somebody has made Allocated by hand is in use until they end it.
 */
export function play(fleets: Fleets, fleet: string, now: EpochMs): void {
  const games = fleets.servers(fleet).filter((one) => stateOf(one) === 'Allocated' && !isBeingDeleted(one));
  const ages = games.map((server) => ({ server, seconds: (now - begunAt(server)) / 1000 }));
  for (const { server, seconds } of ages) {
    if (seconds >= GAME_SECONDS) fleets.endGame(server.metadata.name, server.metadata.namespace);
  }
  if (!ages.some(({ seconds }) => seconds < EVERY_SECONDS)) begin(fleets, fleet);
}

/** On the server that has waited longest, whatever node it is on: an allocator that fills nodes would leave none to wait for. */
function begin(fleets: Fleets, fleet: string): void {
  const age = ({ metadata }: KubeObject) => Date.parse(metadata.creationTimestamp);
  const oldest = fleets.servers(fleet).sort((a, b) => age(a) - age(b));
  oldest.some(({ metadata }) => fleets.allocateServer(metadata.name, metadata.namespace));
}

/** NaN where no allocation has written it down. */
function begunAt({ metadata }: KubeObject): number {
  return Date.parse(metadata.annotations?.['agones.dev/last-allocated'] ?? '');
}
