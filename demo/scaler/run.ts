import type { ScalerFacts } from './facts.ts';
import { type PlaySettings, play } from './play.ts';
import { setStage } from './stage.ts';

export interface ScalerRun extends PlaySettings {
  /** Ends the run. */
  readonly signal: AbortSignal;
  /** Called with the text of a kubeconfig once there is a cluster. */
  readonly onCluster?: ((kubeconfig: string) => Promise<void>) | undefined;
}

/** The whole scene: sets the stage, plays it, and leaves nothing behind. */
export async function runScalerDemo(run: ScalerRun): Promise<ScalerFacts> {
  const { scene, seed, display, signal } = run;
  display.step('starting Berth on this machine, and a simulated EKS');
  const stage = await setStage({ scene, seed });
  const ended = new AbortController();
  const end = () => ended.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  void stage.engine.failed.then((reason) => ended.abort(reason));
  try {
    await run.onCluster?.(stage.outside.kubernetes.kubeconfig());
    return await play(run, stage, ended.signal);
  } finally {
    signal.removeEventListener('abort', end);
    await stage.strike();
  }
}
