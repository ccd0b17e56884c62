import type { NodeId } from '../ids.ts';
import { madeIneligible } from '../nodes/account.ts';
import type { Pool } from '../nodes/pool.ts';
import type { NodeEvent } from '../nodes/profile.ts';
import { BOUNDS } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import { type Facts, type Needs, noNeeds } from './facts.ts';
import { accountAfter, enterAccount, type Ledger } from './ledger.ts';
import { countRefusal } from './rejections.ts';

/** What counting the refusals of a plan came to. */
export interface Verdicts {
  /** Must be read first; nothing was counted then. */
  readonly needs: Needs;
  readonly marked: readonly Scored[];
  readonly withheld: readonly Scored[];
}

export interface Scored {
  readonly nodeId: NodeId;
  /** Refusals inside the window. */
  readonly score: number;
}

/**
 * Counts the refusals of one plan in `ledger`: each node once. A node that reaches the threshold is made ineligible
 * there and then, so that the next plan of the batch finds it so.
 */
export function countRefusals(
  nodes: readonly NodeId[],
  ledger: Ledger,
  facts: Facts,
  pool: Pool,
  now: EpochMs,
): Verdicts {
  const needs = noNeeds();
  const marked: Scored[] = [];
  const withheld: Scored[] = [];
  const { tracker, ineligibleForSeconds } = pool.settings;
  if (!tracker.enabled) return { needs, marked, withheld };
  for (const node of nodes) {
    const known = ledger.windows.get(node) ?? facts.windows.get(node);
    if (known === undefined) {
      needs.windows.add(node);
      continue;
    }
    const window = known === 'missing' ? undefined : known;
    const counted = countRefusal(node, window, ledger.marks ?? pool.marks, now, tracker);
    if (counted.verdict === 'marked') {
      const events = ledger.events.get(node)?.events ?? facts.events.get(node);
      const account = accountAfter(node, ledger, facts, now);
      if (events === undefined) {
        needs.events.add(node);
        continue;
      }
      // A refusal that counts was decided on an account; a node without a profile is being removed.
      if (account !== undefined && account !== 'missing' && events !== 'missing') {
        const until = ineligibleForSeconds === undefined ? undefined : ((now + ineligibleForSeconds * 1000) as EpochMs);
        enterAccount(madeIneligible(account, until), ledger, facts, pool);
        enterEvent(
          node,
          { at: now, message: `made ineligible: refused ${counted.score} times in ${tracker.windowSeconds} seconds` },
          ledger,
          facts,
        );
        marked.push({ nodeId: node, score: counted.score });
      }
    } else if (counted.verdict === 'withheld') {
      withheld.push({ nodeId: node, score: counted.score });
    }
    ledger.marks = counted.marks === pool.marks ? ledger.marks : counted.marks;
    // One write a node and batch: whatever the batch adds, the stored window moves by one version.
    const stored = facts.windows.get(node);
    const version = (stored === undefined || stored === 'missing' ? 0 : stored.version) + 1;
    ledger.windows.set(node, { ...counted.window, version });
  }
  return { needs, marked, withheld };
}

function enterEvent(node: NodeId, event: NodeEvent, ledger: Ledger, facts: Facts): void {
  const stored = facts.events.get(node);
  const before = stored === undefined || stored === 'missing' ? [] : stored;
  const events = [...(ledger.events.get(node)?.events ?? before), event].slice(-BOUNDS.nodeEvents);
  ledger.events.set(node, { before, events });
}
