import type { PlanResult } from '../lib/plans/result.ts';
import type { EpochMs } from '../lib/time.ts';
import type { ClusterState } from './cluster-state.ts';
import type { PlanCase } from './plan-case.ts';
import type { ReaperCase } from './reaper/case.ts';
import type { ReaperOutcome } from './reaper/state.ts';
import type { ScalerCase } from './scaler/case.ts';

/** What became of one delivery of a plan. */
export type Delivered =
  | { readonly kind: 'result'; readonly result: PlanResult }
  /** The message lies whole in the quarantine queue. */
  | { readonly kind: 'quarantined' }
  /** Neither. */
  | { readonly kind: 'nothing'; readonly reason: string };

/** What running a case came to. */
export interface Outcome {
  /** One for each plan of the case, in the order of delivery. */
  readonly delivered: readonly Delivered[];
  readonly before: ClusterState;
  readonly after: ClusterState;
  /** When it had come to this. */
  readonly endedAt: EpochMs;
}

/** Runs cases one way. */
export interface Way {
  readonly name: string;
  run(planCase: PlanCase, now: EpochMs): Promise<Outcome>;
  /** What did not come as a case of kind `window` expects. */
  window(content: unknown): Promise<string[]>;
  reaper(reaperCase: ReaperCase, now: EpochMs): Promise<ReaperOutcome>;
  /** What did not come as a case of the scaler expects. */
  scaler(scalerCase: ScalerCase): Promise<string[]>;
}
