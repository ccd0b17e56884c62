import type { ObservedGameServer, ObservedPod } from '../observation.ts';

/** Agones's own rules of what is a game server and what may be done to one (pkg/apis/agones/v1/gameserver.go, 1.57). */

/** By role label and controlling owner, as in Agones's isGameServerPod; a copied label alone makes none. */
function isGameServerPod({ labels, ownerKind }: ObservedPod): boolean {
  return labels['agones.dev/role'] === 'gameserver' && ownerKind === 'GameServer';
}

/**
 * Whether a pod keeps its node: a game server's that has not finished. Agones sets restartPolicy Never, so finished pods
 * stay until their GameServer goes. One that is terminating still runs.
 */
export function isRunningGamePod(pod: ObservedPod): boolean {
  return isGameServerPod(pod) && pod.phase !== 'Succeeded' && pod.phase !== 'Failed';
}

/** States in which a server holds no session and may be deleted. */
const DELETABLE = new Set([
  'PortAllocation',
  'Creating',
  'Starting',
  'Scheduled',
  'RequestReady',
  'Ready',
  'Error',
  'Unhealthy',
]);

export function isDeletable({ state, deleting }: ObservedGameServer): boolean {
  return !deleting && DELETABLE.has(state);
}

/**
 * Whether a server must not lose its node: Allocated or Reserved, or in a state that is not known here, which a later
 * Agones may have given a meaning.
 */
export function isProtected({ state, deleting }: ObservedGameServer): boolean {
  return !deleting && state !== 'Shutdown' && !DELETABLE.has(state);
}

/** The node that a server is on. */
export function nodeOf({ nodeName, development }: ObservedGameServer): string | undefined {
  return development ? undefined : nodeName;
}
