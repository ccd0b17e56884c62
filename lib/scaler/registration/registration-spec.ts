import { canonicalJson } from '../../hash.ts';
import type { NodeSpecInput, NodeStatus } from '../../nodes/node.ts';
import { checkOrder, isResourceName, type Resources } from '../../nodes/resources.ts';
import { BOUNDS } from '../../settings.ts';
import type { ObservedNode, RegisteredNode } from '../observation.ts';
import { instanceOf } from '../pool/membership.ts';
import { amountOfQuantity } from './quantity.ts';

/** What a node of a cluster is in Berth. */

/**
 * Labels in Berth that say whose a node is: nobody else's is touched. They are written together with all else of the node,
 * and whoever registers it for himself takes them off.
 */
export const BERTH_LABELS = {
  /** Cluster and GameServerNode that registered it. */
  registeredBy: 'berth/registered-by',
  uid: 'berth/node-uid',
  /** The machine: names are given again, on AWS with the address. */
  instance: 'berth/instance',
  /** The machine where no instance tells it. */
  machine: 'berth/machine',
  /** There if the scaler began the drain: what somebody else began goes on. */
  drained: 'berth/drained-by-cordon',
} as const;

const RESERVED = 'berth/';

/** Who registers, as the mark has it. */
export function registrarOf(cluster: string, object: string): string {
  return `${cluster}/${object}`;
}

export function isRegisteredBy(registrar: string, { labels }: RegisteredNode): boolean {
  return labels[BERTH_LABELS.registeredBy] === registrar;
}

/** What says which machine a node is. */
export type MachineMarks = Pick<ObservedNode, 'uid' | 'providerId' | 'machineId'>;

/**
 * Whether `node` is the machine that was registered. A kubelet that registers once more changes the uid: another uid alone
 * says nothing of the machine.
 */
export function compareMachine({ labels }: RegisteredNode, node: MachineMarks): 'same' | 'other' | 'unclear' {
  const [was, is] = [labels[BERTH_LABELS.instance], instanceOf(node)];
  if (was !== undefined && is !== undefined) return was === is ? 'same' : 'other';
  if (labels[BERTH_LABELS.uid] === node.uid) return 'same';
  const machine = labels[BERTH_LABELS.machine];
  if (machine === undefined || node.machineId === undefined) return 'unclear';
  return machine === shownMachine(node.machineId) ? 'same' : 'other';
}

export function isMachineOf(registered: RegisteredNode, node: MachineMarks): boolean {
  return compareMachine(registered, node) === 'same';
}

/** As a label has room for it. */
function shownMachine(machineId: string): string {
  return machineId.slice(0, BOUNDS.labelLength);
}

/** A node of the pool with whatever a tick has changed of it. */
export interface PresentNode {
  readonly node: ObservedNode;
  /** Whether nothing new is to be placed on it. */
  readonly drain: boolean;
}

/** What `present` is to be registered as in `pool`; eligibility is never named, so it stays. `before`: as it is now. */
export function specOf(
  { node, drain }: PresentNode,
  pool: string,
  registrar: string,
  before: RegisteredNode | undefined,
): NodeSpecInput {
  const marks = {
    [BERTH_LABELS.registeredBy]: registrar,
    [BERTH_LABELS.uid]: node.uid,
    ...machineMark(node),
  };
  const drained = drainOf(drain, registrar, before);
  return {
    nodeId: node.name,
    pool,
    capacity: capacityOf(node.allocatable),
    status: node.ready ? 'ready' : 'down',
    ...drained.spec,
    labels: { ...labelsOf(node.labels), ...marks, ...drained.mark },
  };
}

/** `before` as one that takes nothing new: with a drain of ours, and `status`. */
export function drainedSpecOf(
  before: RegisteredNode,
  pool: string,
  registrar: string,
  status: NodeStatus,
): NodeSpecInput {
  const { nodeId, capacity, labels } = before;
  const { spec, mark } = drainOf(true, registrar, before);
  return { nodeId, pool, capacity, status, ...spec, labels: { ...labels, ...mark } };
}

/** Whether registering `spec` would change anything of `before`. */
export function differs({ capacity, labels, status, drain }: NodeSpecInput, before: RegisteredNode): boolean {
  const wanted = { capacity, labels, status, drain: drain ?? before.drain };
  const { capacity: had, labels: named, status: was, drain: drains } = before;
  return canonicalJson(wanted) !== canonicalJson({ capacity: had, labels: named, status: was, drain: drains });
}

interface Drained {
  readonly spec: { readonly drain?: boolean };
  readonly mark: Readonly<Record<string, string>>;
}

function drainOf(wanted: boolean, registrar: string, before: RegisteredNode | undefined): Drained {
  const ours = before?.labels[BERTH_LABELS.drained] !== undefined;
  if (!wanted) return { spec: ours ? { drain: false } : {}, mark: {} };
  const others = before?.drain === true && !ours;
  return { spec: { drain: true }, mark: others ? {} : { [BERTH_LABELS.drained]: registrar } };
}

/** Names and units of Berth (docs/workers.md); anything else is counted in whole ones. */
const RESOURCES = {
  cpu: ['cpu', 'thousandths'],
  memory: ['memory', 'mebibytes'],
  'ephemeral-storage': ['disk', 'mebibytes'],
} as const;

function capacityOf(allocatable: ObservedNode['allocatable']): Resources {
  const amounts = new Map<string, number>();
  for (const [name, quantity] of Object.entries(allocatable)) {
    const known = Object.hasOwn(RESOURCES, name) ? RESOURCES[name as keyof typeof RESOURCES] : undefined;
    const [resource, unit] = known ?? ([name, 'ones'] as const);
    const amount = amountOfQuantity(quantity, unit);
    if (amount !== undefined && isResourceName(resource)) amounts.set(resource, amount);
  }
  const names = checkOrder(amounts.keys()).slice(0, BOUNDS.resourcesPerNode);
  return Object.fromEntries(names.map((name) => [name, amounts.get(name) ?? 0]));
}

/** As Kubernetes has labels; one of another form could not be registered, and would hold up all others. */
const LABEL_NAME = /^[A-Za-z0-9][A-Za-z0-9_./-]*$/;
const LABEL_VALUE = /^[A-Za-z0-9_.-]*$/;

/** The labels that Berth has room for beside its own, the first by name. */
function labelsOf(labels: ObservedNode['labels']): Record<string, string> {
  const fits = ([name, value]: readonly [string, string]) =>
    !name.startsWith(RESERVED) &&
    LABEL_NAME.test(name) &&
    LABEL_VALUE.test(value) &&
    Math.max(name.length, value.length) <= BOUNDS.labelLength;
  const room = BOUNDS.labelsPerNode - Object.keys(BERTH_LABELS).length;
  const sorted = Object.entries(labels)
    .filter(fits)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.slice(0, room));
}

function machineMark(node: MachineMarks): Record<string, string> {
  const instance = instanceOf(node);
  if (instance !== undefined) return { [BERTH_LABELS.instance]: instance };
  return node.machineId === undefined ? {} : { [BERTH_LABELS.machine]: shownMachine(node.machineId) };
}
