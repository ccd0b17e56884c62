import { type EpochMs, systemClock } from '../../lib/time.ts';
import { CREDENTIALS } from '../local-environment.ts';
import { type Outside, startOutside } from './outside.ts';
import { play } from './players.ts';

/** The one that the template names, deployed without any clusters of one's own. */
const CLUSTER = { name: 'local', region: 'us-east-1' };
const FLEET = 'game';

/** How long everything has been there when it starts: machines have joined, games are being played, ages tell something. */
const PAST_MS = 10 * 60_000;
const PAST_STEP_MS = 5_000;
/** Between two looks of the world at the time, so that a watch sees what happens though nobody asks for anything. */
const SETTLE_MS = 1_000;

/**
 * Starts an EKS cluster that lives on by itself, in real time: the node group `gameserver` (0 to 10 machines, 2 of them
 * running) and a fleet `game` that is played on. Any client with the engine's credentials is let in, with the rights of the
 * node scaler; whoever has the kubeconfig may do everything.
 */
export async function startStandingCluster(): Promise<Outside> {
  let ago = PAST_MS;
  const clock = () => (systemClock() - ago) as EpochMs;
  const secretOf = (id: string) => (id === CREDENTIALS.accessKeyId ? CREDENTIALS.secretAccessKey : undefined);
  const outside = await startOutside({
    clock,
    clusters: [
      {
        ...CLUSTER,
        access: { secretOf },
        nodegroups: [{ name: 'gameserver', max: 40, desired: 2, zones: ['us-east-1a'] }],
        // Spread out, so that a node that is drained has a game to wait for.
        fleets: [{ name: FLEET, replicas: 6, scheduling: 'Distributed' }],
      },
    ],
  });
  const live = () => {
    outside.settle();
    play(outside.fleets, FLEET, clock());
  };
  for (; ago > 0; ago -= PAST_STEP_MS) live();
  live();
  const timer = setInterval(live, SETTLE_MS);
  return {
    ...outside,
    close: async () => {
      clearInterval(timer);
      await outside.close();
    },
  };
}
