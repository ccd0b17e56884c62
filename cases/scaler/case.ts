import * as z from 'zod/mini';
import { shaped } from '../shape.ts';

/** A case of the node scaler as the file has it. */

const node = z.looseObject({
  name: z.string(),
  uid: z.optional(z.string()),
  unschedulable: z.optional(z.boolean()),
  /** none, admin, scaler; or the name of another GameServerNode. */
  cordonedBy: z.optional(z.string()),
  cordonedAt: z.optional(z.string()),
  pendingDelete: z.optional(z.string()),
  ready: z.optional(z.boolean()),
  providerID: z.optional(z.string()),
  zone: z.optional(z.string()),
  createdAt: z.optional(z.string()),
  scaleDownDisabled: z.optional(z.boolean()),
  instanceGroup: z.optional(z.string()),
  labels: z.optional(z.record(z.string(), z.string())),
  annotations: z.optional(z.record(z.string(), z.string())),
  taints: z.optional(z.array(z.union([z.string(), z.looseObject({ key: z.string() })]))),
  deletionTimestamp: z.optional(z.nullable(z.string())),
  ineligible: z.optional(z.boolean()),
});
export type NodeCase = z.infer<typeof node>;

const gameServer = z.looseObject({
  name: z.string(),
  namespace: z.optional(z.string()),
  node: z.optional(z.nullable(z.string())),
  state: z.string(),
  uid: z.optional(z.string()),
  resourceVersion: z.optional(z.string()),
  deletionTimestamp: z.optional(z.nullable(z.string())),
  devAddress: z.optional(z.string()),
});
export type GameServerCase = z.infer<typeof gameServer>;

const pod = z.looseObject({
  name: z.string(),
  namespace: z.optional(z.string()),
  node: z.optional(z.nullable(z.string())),
  /** game, daemonset, mirror, other. */
  kind: z.optional(z.string()),
  phase: z.optional(z.string()),
  labels: z.optional(z.record(z.string(), z.string())),
  terminating: z.optional(z.boolean()),
});
export type PodCase = z.infer<typeof pod>;

const provider = z.looseObject({
  kind: z.optional(z.string()),
  status: z.optional(z.string()),
  min: z.optional(z.number()),
  max: z.optional(z.number()),
  desired: z.optional(z.number()),
  instances: z.optional(z.array(z.looseObject({ id: z.string(), state: z.string() }))),
  suspendedProcesses: z.optional(z.array(z.string())),
  protectedFromScaleIn: z.optional(z.array(z.string())),
  activities: z.optional(z.array(z.looseObject({ status: z.string(), message: z.optional(z.string()) }))),
});
export type ProviderCase = z.infer<typeof provider>;

const injected = z.looseObject({
  op: z.string(),
  name: z.optional(z.string()),
  node: z.optional(z.string()),
  instance: z.optional(z.string()),
  resource: z.optional(z.string()),
  after: z.optional(z.string()),
  error: z.optional(z.string()),
  message: z.optional(z.string()),
  definite: z.optional(z.boolean()),
  fatal: z.optional(z.boolean()),
  replaced: z.optional(z.boolean()),
  reason: z.optional(z.string()),
  errors: z.optional(z.array(z.string())),
  // biome-ignore lint/suspicious/noThenProperty: the file's own name for what becomes of the server.
  then: z.optional(z.looseObject({ state: z.optional(z.string()), resourceVersion: z.optional(z.string()) })),
});
export type Injected = z.infer<typeof injected>;

const names = z.optional(z.array(z.string()));
const expectation = z.looseObject({
  uncordoned: names,
  cordoned: names,
  increaseBy: z.optional(z.nullable(z.number())),
  gameServersDeleted: names,
  nodesDeleted: names,
  instancesDeleted: names,
  errors: names,
  status: z.optional(
    z.looseObject({
      effectiveTarget: z.optional(z.nullable(z.number())),
      targetSource: z.optional(z.string()),
      conditions: z.optional(z.record(z.string(), z.string())),
    }),
  ),
});
export type ScalerExpectation = z.infer<typeof expectation>;

const step = z.union([
  z.looseObject({
    tick: z.number(),
    at: z.optional(z.string()),
    inject: z.optional(z.array(injected)),
    expect: z.optional(expectation),
  }),
  z.looseObject({ event: z.string() }),
]);

const schema = z.looseObject({
  id: z.string(),
  spec: z.looseObject({}),
  cluster: z.looseObject({
    nodes: z.optional(z.array(node)),
    gameServers: z.optional(z.array(gameServer)),
    pods: z.optional(z.array(pod)),
    ledger: z.optional(
      z.looseObject({
        pendingDeletions: z.optional(
          z.array(
            z.looseObject({
              node: z.string(),
              uid: z.string(),
              instance: z.optional(z.string()),
              since: z.optional(z.string()),
            }),
          ),
        ),
        pendingIncrease: z.optional(
          z.nullable(
            z.looseObject({ count: z.number(), since: z.string(), baseline: z.optional(z.array(z.string())) }),
          ),
        ),
      }),
    ),
    otherGameServerNodes: z.optional(
      z.array(z.looseObject({ name: z.string(), createdAt: z.string(), selectsSamePool: z.optional(z.boolean()) })),
    ),
  }),
  provider: z.nullable(provider),
  steps: z.array(step),
  targetOnly: z.optional(z.boolean()),
  callLevel: z.optional(z.boolean()),
  expect: expectation,
});
export type ScalerCase = z.infer<typeof schema>;
export type ScalerStep = ScalerCase['steps'][number];
export type ScalerTick = Extract<ScalerStep, { tick: number }>;

/** Pieces of an event, by the name that the event has for it. */
export const EVENT_PIECES = { node, gameServer, pod, provider } as const;

/** Whether a case that names no kind is one of the node scaler. */
export function isScalerCase(content: Readonly<Record<string, unknown>>): boolean {
  return 'cluster' in content && 'steps' in content && 'spec' in content;
}

/** `content` as a case of the scaler, or what of it is not of that shape. */
export function scalerCaseOf(
  content: unknown,
): { readonly data: ScalerCase } | { readonly problems: readonly string[] } {
  return shaped(schema, content);
}
