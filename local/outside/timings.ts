/** How long things take outside, in seconds. Each can be set for a world; what they are by default is about what they are. */
export interface Timings {
  /** From the launch of an instance until it is in service. */
  readonly launchSeconds: number;
  /** From the launch of an instance until its Node joins the cluster. */
  readonly joinSeconds: number;
  /** From joining until the Node is Ready. */
  readonly nodeReadySeconds: number;
  /** From the order to end an instance until it is gone. */
  readonly terminateSeconds: number;
  /** From the loss of a machine until its group finds out and replaces it. */
  readonly healthCheckSeconds: number;
  /** From the end of a machine until its Node is Ready=Unknown: the node lease runs out. */
  readonly leaseSeconds: number;
  /** From the end of a machine until the cloud controller deletes its Node. */
  readonly nodeRemovalSeconds: number;
  /** From the deletion of a Node until pod GC deletes its pods. */
  readonly podGcSeconds: number;
  /** From the scheduling of a game server until it is Ready. */
  readonly serverReadySeconds: number;
  /** What the pod of a deleted game server takes to end. */
  readonly graceSeconds: number;
}

export const DEFAULT_TIMINGS: Timings = {
  launchSeconds: 40,
  joinSeconds: 90,
  nodeReadySeconds: 10,
  terminateSeconds: 60,
  healthCheckSeconds: 120,
  leaseSeconds: 40,
  nodeRemovalSeconds: 60,
  podGcSeconds: 60,
  serverReadySeconds: 10,
  graceSeconds: 30,
};
