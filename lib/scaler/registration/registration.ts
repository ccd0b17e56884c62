import { canonicalJson, sha256 } from '../../hash.ts';
import { isId } from '../../ids.ts';
import type { Deed } from '../act/report.ts';
import type { RegisteredNode } from '../observation.ts';
import type { Finding } from '../plan/findings.ts';
import { isHeldByOthers, type Pool } from '../pool/classes.ts';
import { instanceOf } from '../pool/membership.ts';
import type { RegistryEntry } from '../ports.ts';
import type { Fate } from './registration-fate.ts';
import {
  BERTH_LABELS,
  differs,
  drainedSpecOf,
  isMachineOf,
  isRegisteredBy,
  type PresentNode,
  specOf,
} from './registration-spec.ts';

/** The nodes of a pool as they are after `deeds`, those without that were deleted. */
export function presentNodes({ nodes }: Pick<Pool, 'nodes'>, deeds: readonly Deed[]): PresentNode[] {
  const did = (kind: Deed['kind'], name: string) => deeds.some((deed) => deed.kind === kind && isAbout(deed, name));
  return nodes
    .filter(({ node }) => !did('node-deleted', node.name))
    .map(({ node, class: of, twins, live }) => {
      const cordoned = did('cordoned', node.name) || (node.unschedulable && !did('uncordoned', node.name));
      // What one machine has must not be given out twice.
      const countsElsewhere = twins !== undefined && !live;
      return { node, drain: cordoned || of === 'leaving' || isHeldByOthers(node) || countsElsewhere };
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

export interface RegistrationView {
  readonly pool: string;
  readonly registrar: string;
  readonly present: readonly PresentNode[];
  /** What Berth has: of the present nodes at least, and of all in the pool where somebody may have vanished. */
  readonly registered: Iterable<RegisteredNode>;
  readonly fateOf: (registered: RegisteredNode) => Fate;
}

/** `force`: its machine is at its end, its tasks are orphaned. Otherwise it stays while tasks hold it: what is told then. */
export type Removal =
  | { readonly seen: RegisteredNode; readonly force: true }
  | { readonly seen: RegisteredNode; readonly force: false; readonly held: string };

export interface RegistrationPlan {
  /** Before anything is registered. */
  readonly removals: readonly Removal[];
  readonly entries: readonly RegistryEntry[];
  readonly findings: readonly Finding[];
  /** Whether nodes stay registered that are not present, for now. */
  readonly keeps: boolean;
}

/**
 * What brings the registered nodes to what is present. Nothing that somebody else registered is changed; nobody is
 * removed whose machine may run, unless it holds no task. A name that another machine has now: what ran on the first is
 * orphaned once that has ended, and the second begins anew.
 */
export function planRegistration(view: RegistrationView): RegistrationPlan {
  const { pool, registrar } = view;
  const registered = new Map([...view.registered].map((one) => [one.nodeId, one]));
  const [removals, entries, findings]: [Removal[], RegistryEntry[], Finding[]] = [[], [], []];
  let keeps = false;
  const entryOf = (spec: RegistryEntry['spec'], seen: RegisteredNode) => {
    if (differs(spec, seen)) entries.push({ spec, seen });
  };
  const take = (seen: RegisteredNode) => {
    const parting = partingOf(seen, view.fateOf(seen), view);
    if ('removal' in parting) removals.push(parting.removal);
    else {
      keeps = true;
      entryOf(parting.spec, seen);
    }
    if (parting.told !== undefined) findings.push(failed(parting.told));
    return 'removal' in parting;
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
    } else if (take(seen)) {
      entries.push({ spec: specOf(present, pool, registrar, undefined) });
    }
  }
  const names = new Set(view.present.map(({ node }) => node.name));
  for (const seen of registered.values()) {
    if (!names.has(seen.nodeId) && isRegisteredBy(registrar, seen)) take(seen);
  }
  return { removals, entries, findings, keeps };
}

/** How a node leaves: at once, or as one that takes nothing new for now; and what is told of it. */
type Parting = ({ readonly removal: Removal } | { readonly spec: RegistryEntry['spec'] }) & { readonly told?: string };

function partingOf(seen: RegisteredNode, fate: Fate, { pool, registrar }: RegistrationView): Parting {
  switch (fate) {
    case 'ended':
      return { removal: { seen, force: true } };
    case 'elsewhere':
      if (seen.drain) return { removal: { seen, force: false, held: heldMessage(seen, pool) } };
      return { spec: drainedSpecOf(seen, pool, registrar, seen.status) };
    case 'unknown':
      if (seen.drain && seen.status === 'down')
        return { removal: { seen, force: false, held: unknownMessage(seen, pool) } };
      return { spec: drainedSpecOf(seen, pool, registrar, 'down') };
    case 'unsure':
      return { spec: drainedSpecOf(seen, pool, registrar, 'down'), told: unsureMessage(seen, pool) };
  }
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

function heldMessage({ nodeId }: RegisteredNode, pool: string): string {
  return `node ${nodeId} belongs to pool ${pool} no more, and tasks of Berth hold it: it takes no new ones, and goes when they have ended`;
}

function unknownMessage({ nodeId }: RegisteredNode, pool: string): string {
  return `node ${nodeId} is gone from the cluster, and nobody can tell whether its machine runs: it is down in pool ${pool} and goes when its tasks have ended; if the machine has, remove it with its tasks (berth node remove ${pool} ${nodeId} --force)`;
}

function unsureMessage({ nodeId, labels }: RegisteredNode, pool: string): string {
  return `node ${nodeId} is gone from the cluster, and its machine ${labels[BERTH_LABELS.instance]} may go on running: it is down in pool ${pool} and keeps its tasks until the machine is ended`;
}
