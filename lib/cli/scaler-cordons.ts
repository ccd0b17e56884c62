import type { InspectableCluster } from '../aws/reach-cluster.ts';
import { listed } from '../listed.ts';
import { CallError } from '../scaler/call-error.ts';
import type { Ledger, ObservedNode } from '../scaler/observation.ts';
import { cordonsOfTheGone } from '../scaler/plan/leftovers.ts';
import { SCALER } from '../settings.ts';
import { lineOf } from './scaler-view.ts';
import { counted } from './table.ts';

/** Nodes that no object will ever bring back. */
export interface Cordons {
  /** By the objects that have cordoned them and are gone. */
  readonly leftCordoned?: readonly { readonly object: string; readonly nodes: readonly string[] }[];
  /** Why the nodes could not be seen: somebody may read the objects of a cluster alone. */
  readonly nodesProblem?: string;
}

type Nodes = readonly ObservedNode[] | { readonly nodesProblem: string };

/** The nodes, or why they could not be seen. */
export async function lookAtNodes({ listNodes }: Pick<InspectableCluster, 'listNodes'>): Promise<Nodes> {
  try {
    return await listNodes();
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return { nodesProblem: `${error.code}: ${error.message}` };
  }
}

/** What is left cordoned of `nodes` where `objects` are all there are. */
export function cordonsIn(
  nodes: Nodes,
  objects: readonly { readonly name: string }[],
  ledgers: ReadonlyMap<string, Ledger>,
): Cordons {
  if ('nodesProblem' in nodes) return nodes;
  const isLeaving = (object: string, { uid }: ObservedNode) =>
    ledgers.get(object)?.pendingDeletions.some((one) => one.uid === uid) ?? false;
  const left = cordonsOfTheGone(nodes, new Set(objects.map(({ name }) => name)), isLeaving);
  return left.size === 0 ? {} : { leftCordoned: [...left].map(([object, names]) => ({ object, nodes: names })) };
}

/** A line for each object that is gone, with as many names as a line has room for. */
export function cordonsText({ leftCordoned = [], nodesProblem }: Cordons): string[] {
  const most = SCALER.namesInMessage;
  const lines = leftCordoned.slice(0, most).map(({ object, nodes }) => {
    const named = nodes.slice(0, most).join(' ');
    const others = nodes.length > most ? ' …' : '';
    return `${listed(nodes, most)}: cordoned by ${object}, which is gone: kubectl uncordon ${named}${others}, or make ${object} again`;
  });
  const others = leftCordoned.length - lines.length;
  if (others > 0) lines.push(`and nodes cordoned by ${counted(others, 'object')} more that are gone: see --json`);
  if (nodesProblem !== undefined) lines.push(`the nodes could not be seen, nor what is left cordoned: ${nodesProblem}`);
  return lines.map(lineOf);
}
