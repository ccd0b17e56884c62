import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NodeModel } from '../../test/support/fit-model.ts';
import { crowds, givenBack, nodeSpecs, roomySpecs, steps } from '../../test/support/node-arbitraries.ts';
import { holdingOf } from '../tasks/holding.ts';
import { accountOf, type Exchange, exchanged } from './account.ts';
import { FREE } from './claims.ts';
import { misfitOf } from './fit.ts';

describe('what fits a node', () => {
  it('is what the specification says, and the account is what its tasks add up to', () => {
    const codes = new Map<string, number>();
    let full = 0;
    fc.assert(
      fc.property(fc.oneof(nodeSpecs, roomySpecs), crowds, steps(6), (spec, crowd, list) => {
        const model = new NodeModel(spec);
        const fresh = accountOf(spec);
        let account = exchanged(fresh, { gives: [], takes: crowd.map(holdingOf) });
        model.exchange([], crowd);
        for (const step of list) {
          const gone = givenBack(
            step,
            [...model.tasks.values()].filter((task) => !crowd.includes(task)),
          );
          const ids = gone.map(({ taskId }) => taskId);
          const exchange: Exchange = { gives: gone.map(holdingOf), takes: step.takes.map(holdingOf) };
          const { code, message } = misfitOf(account, exchange) ?? {};
          if (message?.includes('bytes')) full++;
          expect(code).toBe(model.misfit(ids, step.takes));
          codes.set(code ?? 'fits', (codes.get(code ?? 'fits') ?? 0) + 1);
          if (code !== undefined) continue;
          account = exchanged(account, exchange);
          model.exchange(ids, step.takes);
          expect(account.free).toEqual(model.free());
          const portsIn = <T>(map: ReadonlyMap<string, T>, tasks: (value: T) => string[]) => {
            const ports = [...map].filter(([key]) => key.startsWith('port/'));
            return new Map(ports.map(([key, value]) => [key.slice(5).replace('/', ' '), tasks(value)]));
          };
          expect(portsIn(account.claims, (holder) => [holder])).toEqual(model.ports(false));
          expect(portsIn(account.sharers, (tasks) => [...tasks].sort())).toEqual(model.ports(true));
          const holders = [...account.claims].filter(([key, holder]) => /^(core|device)/.test(key) && holder !== FREE);
          expect(holders.length).toBe(
            [...model.tasks.values()].flatMap(({ cores, devices }) => [...cores, ...devices]).length,
          );
        }
        const rest = [...model.tasks.values()].map(holdingOf);
        expect(exchanged(account, { gives: rest, takes: [] })).toEqual(fresh);
      }),
      { numRuns: 600 },
    );
    expect(full).toBeGreaterThan(10);
    // A property that never meets a refusal proves nothing of it.
    expect([...codes.keys()].sort()).toEqual([
      'Zeta',
      'constructor',
      'cores',
      'cpu',
      'device-oversubscribed',
      'device-unavailable',
      'disk',
      'fits',
      'gpu',
      'max-tasks',
      'memory',
      'port-collision',
      'toString',
      'volume-conflict',
    ]);
  });
});
