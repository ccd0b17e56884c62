import type { EpochMs } from '../time.ts';
import { type Account, accountAt } from './account.ts';
import type { Eligibility, NodeStatus } from './node.ts';
import type { NodeEvent } from './profile.ts';

/** What an operator or an agent changes of a node that is registered. */
export type NodeChange =
  | { readonly kind: 'status'; readonly status: NodeStatus }
  | { readonly kind: 'eligibility'; readonly eligibility: Eligibility }
  | { readonly kind: 'drain'; readonly drain: boolean };

export type NodeChangeDecision =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'write'; readonly image: Account; readonly event: NodeEvent };

/**
 * What `change` makes of `account` at `now`. Eligible while it drains a node cannot be made, as in Nomad
 * (`node_endpoint.go`, UpdateEligibility). Whoever says what a node is to be says so for good: a time at which it would be
 * eligible again by itself is dropped.
 */
export function decideNodeChange(account: Account, change: NodeChange, now: EpochMs): NodeChangeDecision {
  switch (change.kind) {
    case 'status': {
      if (account.status === change.status) return { kind: 'unchanged' };
      return changed(account, { status: change.status }, `status ${change.status}, was ${account.status}`, now);
    }
    case 'drain': {
      if (account.drain === change.drain) return { kind: 'unchanged' };
      return changed(account, { drain: change.drain }, change.drain ? 'drain begun' : 'drain ended', now);
    }
    case 'eligibility':
      return eligibilityChange(account, change.eligibility, now);
  }
}

function eligibilityChange(account: Account, eligibility: Eligibility, now: EpochMs): NodeChangeDecision {
  if (eligibility === 'eligible' && account.drain) {
    return {
      kind: 'refused',
      reason: `node ${account.nodeId} is draining and cannot be made eligible; end its drain first`,
    };
  }
  if (account.eligibility === eligibility && account.eligibleAt === undefined) return { kind: 'unchanged' };
  const { eligibleAt: _dropped, ...rest } = account;
  const was = accountAt(account, now).eligibility;
  const event = was === eligibility ? `${eligibility} for good` : `${eligibility}, was ${was}`;
  return changed(rest, { eligibility }, event, now);
}

function changed(account: Account, change: Partial<Account>, message: string, at: EpochMs): NodeChangeDecision {
  return {
    kind: 'write',
    image: { ...account, ...change, version: account.version + 1 },
    event: { at, message },
  };
}
