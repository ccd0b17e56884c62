import { describe, expect, it } from 'vitest';
import { readMessage } from '../lib/plans/read-message.ts';
import { decide } from './deciding.ts';
import { knownFacts, NOW, nodeName, POOL } from './known-facts.ts';
import { planOn } from './load.ts';

function delivered(at: number, nodes: readonly string[]) {
  const message = readMessage({ body: JSON.stringify(planOn(POOL, at, nodes)), group: POOL, sentAt: NOW });
  if ('reason' in message) throw new Error(message.reason);
  return message;
}

describe('what the bench of deciding measures', () => {
  it('knows as many nodes and tasks as it says, and nodes that hold their tasks', () => {
    const { facts, accounts, tasks } = knownFacts(10, 25);
    expect([accounts.size, tasks.size]).toEqual([10, 25]);
    const account = facts.accounts.get(nodeName(4));
    expect(account).toMatchObject({ free: { cpu: 1_000_000 - 3 * 100, memory: 1_000_000 - 3 * 128 } });
  });

  it('looks up as many facts in a large pool as in a small one, and takes in what was decided', () => {
    const looks = [10, 1_000].map((nodes) => {
      const { facts, accounts, tasks } = knownFacts(nodes, 0);
      decide([delivered(1, [nodeName(0), nodeName(1)]), delivered(2, [nodeName(1)])], facts);
      const looked = accounts.looks + tasks.looks;
      expect(facts.accounts.get(nodeName(1))).toMatchObject({ free: { cpu: 1_000_000 - 200 } });
      expect(tasks.size).toBe(3);
      return looked;
    });
    expect(looks[0]).toBeGreaterThan(0);
    expect(looks[1]).toBe(looks[0]);
  });

  it('measures no plan that is refused, and none that nothing is known about', () => {
    const { facts } = knownFacts(1, 0);
    expect(() => decide([delivered(1, ['ghost'])], facts)).toThrow(/^node ghost is not known/);
    facts.accounts.set('ghost' as ReturnType<typeof nodeName>, 'missing');
    expect(() => decide([delivered(1, ['ghost'])], facts)).toThrow(/came to rejected/);
  });
});
