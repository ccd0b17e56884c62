import { describe, expect, it } from 'vitest';
import { CallError } from '../../lib/scaler/call-error.ts';
import { registered, toldOf, untouched } from './registered-bed.ts';

describe('a registry that fails', () => {
  const failing = (kind: CallError['kind']) => () => {
    throw new CallError(kind, 'Timeout', 'no answer');
  };

  it.each(['unknown', 'denied', 'throttled'] as const)('(%s) stops no scaling, and is told', async (kind) => {
    const { bed, registry } = await registered(3, 2);
    registry.change('eu', 'n3', { ineligible: true });
    registry.before = failing(kind);
    const outcome = await bed.tick();
    expect(toldOf(outcome)).toMatch(/RegistrationFailed: .*no answer/);
    expect(outcome?.report.errors).toMatchObject([{ operation: 'readRegistry', subject: 'eu', code: 'Timeout' }]);
    // Nobody knows that n3 is ineligible.
    expect(bed.takeLog().cordoned).toEqual(['n1']);
    registry.before = () => undefined;
    await bed.tick();
    expect(registry.nodesOf('eu').get('n1')?.drain).toBe(true);
  });

  it.each(['list', 'register', 'remove'] as const)('at %s is asked again by the next tick', async (operation) => {
    const { bed, registry, eu } = await registered(2);
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, instances: new Map(group.instances).set('i-1', 'Terminating') };
    bed.world.nodes.delete('n1');
    bed.addNode();
    registry.before = (asked) => {
      if (asked === operation) failing('unknown')();
    };
    expect(toldOf(await bed.tick())).toContain('RegistrationFailed');
    registry.before = () => undefined;
    expect(toldOf(await bed.tick())).toContain('AsExpected');
    expect([...eu.keys()].sort()).toEqual(['n2', 'n3']);
    registry.takeCalls();
    await bed.tick();
    expect(registry.takeCalls()).toEqual(['read']);
  });

  it('that has done what it did not answer leaves no node behind that has gone since', async () => {
    const { bed, registry, eu } = await registered(1);
    const before = bed.world.group;
    const name = bed.addNode();
    registry.before = (operation) => {
      // The function ends right after the node is registered: the ledger hears nothing.
      if (operation !== 'register') return;
      bed.world.intercept = async (call, act) => {
        if (call.operation === 'writeLedger') throw new CallError('unknown', 'Timeout', 'no answer');
        return act();
      };
    };
    await bed.tick();
    expect(eu.has(name)).toBe(true);
    registry.before = () => undefined;
    bed.world.nodes.delete(name);
    bed.world.group = before;
    await bed.tick(untouched);
    expect([...eu.keys()]).toEqual(['n1']);
  });
});
