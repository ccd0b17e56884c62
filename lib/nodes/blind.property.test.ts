import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crowds, givenBack, nodeSpecs, type Step, steps } from '../../test/support/node-arbitraries.ts';
import type { TaskId } from '../ids.ts';
import type { Placement } from '../plans/plan.ts';
import { BOUNDS } from '../settings.ts';
import { holdingOf } from '../tasks/holding.ts';
import {
  type Account,
  accountOf,
  type Exchange,
  exchanged,
  isReserved,
  isSchedulable,
  namedBytesIn,
} from './account.ts';
import { type BlindChange, blindly, type Demand } from './blind.ts';
import { type ClaimKey, FREE, isListed, isPort } from './claims.ts';
import { misfitOf } from './fit.ts';
import type { NodeSpec } from './node.ts';

const demands: fc.Arbitrary<Demand> = fc.constantFrom('there', 'ready', 'schedulable');

/** Whether nobody may have what `key` names. */
function withdrawn(account: Account, key: ClaimKey): boolean {
  const port = /^port\/(.*)\/(\d+)$/.exec(key);
  return port ? isReserved(account, port[1] ?? '', Number(port[2])) : account.withdrawn.has(key);
}

/** Whether everything holds that `change` asks of an account, as the words of BlindChange have it. */
function holds(account: Account, change: BlindChange): boolean {
  if (change.demand === 'ready' && account.status !== 'ready') return false;
  if (change.demand === 'schedulable' && !isSchedulable(account)) return false;
  for (const [name, need] of change.need) {
    if (!(Object.hasOwn(account.free, name) && (account.free[name] as number) >= need)) return false;
  }
  const { need } = change.named;
  if (need !== undefined && namedBytesIn(account) + need > BOUNDS.namedClaimBytesPerNode) return false;
  for (const [key, claim] of change.claims) {
    const holder = account.claims.get(key);
    const free = isListed(key) ? holder === FREE : holder === undefined;
    switch (claim.op) {
      case 'take':
        if (!free || withdrawn(account, key) || account.sharers.has(key)) return false;
        break;
      case 'release':
        if (holder !== claim.task) return false;
        break;
      case 'pass':
        if (holder !== claim.from || withdrawn(account, key) || account.sharers.has(key)) return false;
        break;
    }
  }
  for (const [key, tasks] of change.leaves) {
    if (isPort(key) && ![...tasks].every((task) => account.sharers.get(key)?.has(task))) return false;
  }
  return [...change.joins.keys()].every((key) => isPort(key) || !account.claims.has(key));
}

function changed(account: Account, change: BlindChange): Account {
  const free: Record<string, number> = { ...account.free };
  for (const [name, net] of change.net) free[name] = (Object.hasOwn(free, name) ? (free[name] as number) : 0) - net;
  const claims = new Map(account.claims);
  for (const [key, claim] of change.claims) {
    if (claim.op === 'release' && isListed(key)) claims.set(key, FREE);
    else if (claim.op === 'release') claims.delete(key);
    else claims.set(key, claim.task);
  }
  const sharers = new Map<ClaimKey, ReadonlySet<TaskId>>(account.sharers);
  const share = (key: ClaimKey, tasks: readonly TaskId[]) =>
    tasks.length > 0 ? sharers.set(key, new Set(tasks)) : sharers.delete(key);
  for (const [key, tasks] of change.joins) share(key, [...new Set([...(sharers.get(key) ?? []), ...tasks])]);
  for (const [key, tasks] of change.leaves)
    share(
      key,
      [...(sharers.get(key) ?? [])].filter((task) => !tasks.has(task)),
    );
  return { ...account, free, claims, sharers };
}

/** An update leaves a zero where `exchanged` leaves nothing: they are the same amount. */
function compared({ free, ...account }: Account) {
  return { ...account, free: Object.fromEntries(Object.entries(free).filter(([, left]) => left !== 0)) };
}

interface Part {
  readonly exchange: Exchange;
  readonly demand: Demand;
}

/** Whether each part fits in its turn, and what it gives back is its own; and the account after all of them. */
function inTurn(account: Account, parts: readonly Part[]): { fits: boolean; after: Account } {
  let after = account;
  let fits = true;
  for (const { exchange, demand } of parts) {
    fits &&= demand === 'there' || (demand === 'ready' ? account.status === 'ready' : isSchedulable(account));
    fits &&= exchange.gives.every(({ taskId, claims }) =>
      claims.every(({ key, mode }) => {
        if (mode === 'shared') return true;
        return mode === 'ignoring' ? after.sharers.get(key)?.has(taskId) : after.claims.get(key) === taskId;
      }),
    );
    fits &&= misfitOf(after, exchange) === undefined;
    after = exchanged(after, exchange);
  }
  return { fits, after };
}

/** A node with tasks on it, described anew since: cores and devices withdrawn, capacity short of what is used. */
const accounts: fc.Arbitrary<{ account: Account; tasks: readonly Placement[] }> = fc
  .record({ first: nodeSpecs, second: fc.option(nodeSpecs), list: steps(3), crowd: crowds })
  .map(({ first, second, list, crowd }) => {
    let account = exchanged(accountOf(first), { gives: [], takes: crowd.map(holdingOf) });
    const tasks = list
      .flatMap(({ takes }) => takes)
      .map((task, at): Placement => ({ ...task, taskId: `h${at}` as TaskId }))
      .filter((task) => {
        const exchange = { gives: [], takes: [holdingOf(task)] };
        if (misfitOf(account, exchange)) return false;
        account = exchanged(account, exchange);
        return true;
      });
    return { account: second ? accountOf(second as NodeSpec, account) : account, tasks };
  });

function partsFrom(list: readonly Step[], demand: readonly Demand[], tasks: readonly Placement[]): Part[] {
  const there = [...tasks];
  return list.map((step, at) => {
    const gone = givenBack(step, there);
    for (const task of gone) there.splice(there.indexOf(task), 1);
    there.push(...step.takes);
    return {
      exchange: { gives: gone.map(holdingOf), takes: step.takes.map(holdingOf) },
      demand: demand[at] ?? 'schedulable',
    };
  });
}

describe('a blind change', () => {
  it('holds exactly when each of its parts fits in its turn, and does what they do one after the other', () => {
    const seen = { held: 0, refused: 0, unsayable: 0, full: 0 };
    fc.assert(
      fc.property(accounts, steps(4), fc.array(demands), ({ account, tasks }, list, demand) => {
        const parts = partsFrom(list, demand, tasks);
        let change: BlindChange | undefined;
        for (const [at, part] of parts.entries()) {
          change = blindly(change, part.exchange, part.demand);
          if (!change) {
            seen.unsayable++;
            return;
          }
          const { fits, after } = inTurn(account, parts.slice(0, at + 1));
          const held = holds(account, change);
          if (namedBytesIn(account) + (change.named.need ?? 0) > BOUNDS.namedClaimBytesPerNode) seen.full++;
          expect(held).toBe(fits);
          if (!held) {
            seen.refused++;
            return;
          }
          seen.held++;
          expect(compared(changed(account, change))).toEqual(compared(after));
          expect(namedBytesIn(account) + change.named.net).toBe(namedBytesIn(after));
        }
      }),
      { numRuns: 500 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10);
  });

  it('is left as it was by the parts that come after it', () => {
    fc.assert(
      fc.property(accounts, steps(2), ({ tasks }, list) => {
        const [first, second] = partsFrom(list, [], tasks);
        if (!first || !second) return;
        const change = blindly(undefined, first.exchange, first.demand);
        const copy = structuredClone(change);
        blindly(change, second.exchange, second.demand);
        expect(change).toEqual(copy);
      }),
      { numRuns: 100 },
    );
  });
});
