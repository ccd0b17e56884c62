import { canonicalJson, sha256 } from '../hash.ts';
import { isId } from '../ids.ts';
import { isHeldByOthers, lifeOf, type Pool } from './classes.ts';
import type { Finding } from './findings.ts';
import { instanceOf } from './membership.ts';
import type { ClusterSnapshot, Group, RegisteredNode } from './observation.ts';
import type { RegistryEntry } from './ports.ts';
import {
  BERTH_LABELS,
  differs,
  drainedSpecOf,
  isMachineOf,
  isRegisteredBy,
  type PresentNode,
  specOf,
} from './registration-spec.ts';
import type { Deed } from './report.ts';

/** The nodes of a pool as they are after `deeds`, those without that were deleted. */
export function presentNodes({ nodes }: Pick<Pool, 'nodes'>, deeds: readonly Deed[]): PresentNode[] {
  const did = (kind: Deed['kind'], name: string) => deeds.some((deed) => deed.kind === kind && isAbout(deed, name));
  return nodes
    .filter(({ node }) => !did('node-deleted', node.name))
    .map(({ node, class: of }) => {
      const cordoned = did('cordoned', node.name) || (node.unschedulable && !did('uncordoned', node.name));
      return { node, drain: cordoned || of === 'leaving' || isHeldByOthers(node) };
    });
}

function isAbout(deed: Deed, name: string): boolean {
  return 'node' in deed && deed.node === name;
}

/** Of the nodes that are to be registered: another one where one came, went, or is another machine. */
export function digestOf(present: readonly PresentNode[]): string {
  const machines = present.map(({ node }) => [node.name, instanceOf(node) ?? node.uid]);
  return sha256(canonicalJson(machines.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)))).toString('hex');
}

/**
 * What has become of a node that was registered and is not of the pool any more. ended: its machine is at its end, for
 * certain. unsure: there is no node of it, and its machine may go on running. elsewhere: the node is there.
 */
export type Fate = 'ended' | 'unsure' | 'elsewhere';

export interface FateView {
  readonly snapshot: Pick<ClusterSnapshot, 'nodes'>;
  readonly deeds: readonly Deed[];
  readonly group?: Group;
}

export function fateOf(registered: RegisteredNode, { snapshot, deeds, group }: FateView): Fate {
  const { nodeId, labels } = registered;
  // The machine comes before the node: where the node was deleted, its machine's end is certain.
  if (deeds.some((deed) => deed.kind === 'node-deleted' && deed.node === nodeId)) return 'ended';
  const node = snapshot.nodes.find(({ name }) => name === nodeId);
  if (node !== undefined && isMachineOf(registered, node)) return 'elsewhere';
  if (deeds.some((deed) => deed.kind === 'machine-ended' && deed.node === nodeId)) return 'ended';
  const instance = labels[BERTH_LABELS.instance];
  if (group === undefined || instance === undefined) return 'ended';
  return lifeOf(group.instances.get(instance)) === 'leaving' ? 'ended' : 'unsure';
}

export interface RegistrationView {
  readonly pool: string;
  readonly registrar: string;
  readonly present: readonly PresentNode[];
  /** What Berth has: of the present nodes at least, and of all in the pool where somebody may have vanished. */
  readonly registered: Iterable<RegisteredNode>;
  readonly fateOf: (registered: RegisteredNode) => Fate;
}

export interface RegistrationPlan {
  /** Before anything is registered. Forced: its machine is at its end, its tasks are orphaned. */
  readonly removals: readonly { readonly seen: RegisteredNode; readonly force: boolean }[];
  readonly entries: readonly RegistryEntry[];
  readonly findings: readonly Finding[];
  /** Whether nodes stay registered that are not present, for now. */
  readonly keeps: boolean;
}

/**
 * What brings the registered nodes to what is present. Nothing that somebody else registered is changed; nobody is
 * removed whose machine may run, unless it holds no task. A name that another machine has now: what ran on the first is
 * orphaned, and the second begins anew.
 */
export function planRegistration(view: RegistrationView): RegistrationPlan {
  const { pool, registrar } = view;
  const registered = new Map([...view.registered].map((one) => [one.nodeId, one]));
  const removals: { seen: RegisteredNode; force: boolean }[] = [];
  const entries: RegistryEntry[] = [];
  const findings: Finding[] = [];
  let keeps = false;
  const entryOf = (spec: RegistryEntry['spec'], seen: RegisteredNode) => {
    if (differs(spec, seen)) entries.push({ spec, seen });
  };
  for (const present of view.present) {
    const { node } = present;
    const seen = registered.get(node.name);
    if (!isId(node.name)) {
      findings.push(
        failed(`node ${node.name} has a name that is no id of Berth, and is not registered in pool ${pool}`),
      );
    } else if (seen === undefined) {
      entries.push({ spec: specOf(present, pool, registrar, undefined) });
    } else if (!isRegisteredBy(registrar, seen)) {
      findings.push(failed(foreignMessage(seen, pool)));
    } else if (isMachineOf(seen, node)) {
      entryOf(specOf(present, pool, registrar, seen), seen);
    } else {
      removals.push({ seen, force: true });
      entries.push({ spec: specOf(present, pool, registrar, undefined) });
    }
  }
  const names = new Set(view.present.map(({ node }) => node.name));
  for (const seen of registered.values()) {
    if (names.has(seen.nodeId) || !isRegisteredBy(registrar, seen)) continue;
    const fate = view.fateOf(seen);
    if (fate === 'ended') {
      removals.push({ seen, force: true });
    } else if (fate === 'elsewhere' && seen.drain) {
      removals.push({ seen, force: false });
    } else {
      keeps = true;
      entryOf(drainedSpecOf(seen, pool, registrar, fate === 'elsewhere' ? seen.status : 'down'), seen);
      if (fate === 'unsure') findings.push(failed(unsureMessage(seen, pool)));
    }
  }
  return { removals, entries, findings, keeps };
}

/** What is wrong with what Berth has of a pool. */
export function failed(message: string): Finding {
  return { reason: 'RegistrationFailed', message };
}

function foreignMessage({ nodeId, labels }: RegisteredNode, pool: string): string {
  const other = labels[BERTH_LABELS.registeredBy];
  const whom = other === undefined ? 'somebody else' : other;
  return `node ${nodeId} of pool ${pool} was registered by ${whom} and is left alone: let one of the two register it, and remove it first (berth node remove ${pool} ${nodeId})`;
}

function unsureMessage({ nodeId, labels }: RegisteredNode, pool: string): string {
  return `node ${nodeId} is gone from the cluster, and its machine ${labels[BERTH_LABELS.instance]} may go on running: it is down in pool ${pool} and keeps its tasks until the machine is ended`;
}
