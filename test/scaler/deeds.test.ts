import { describe, expect, it } from 'vitest';
import { CallError, type CallErrorKind } from '../../lib/scaler/call-error.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { ScalerBed } from './bed.ts';
import { bedWith, degradedAfter, failing, type Operation, watching } from './failing.ts';

/** What a deed does where a call before it is answered otherwise than it was planned, and what it asks for at all. */

describe('servers of a node that goes', () => {
  function drainingBed(servers = 1): { readonly bed: ScalerBed; readonly names: readonly string[] } {
    const bed = bedWith(2, 1);
    bed.drain('n2', 0);
    return { bed, names: Array.from({ length: servers }, () => bed.addServer('n2', 'Ready')) };
  }

  it('are left where they cannot be listed, and it is tried once', async () => {
    const { bed } = drainingBed();
    const { intercept, times } = failing('listGameServers', 'unknown');
    await bed.tick(intercept);
    expect({ changes: bed.takeLog().changes, lists: times('listGameServers') }).toEqual({ changes: 0, lists: 1 });
  });

  it.each<[string, Operation, (bed: ScalerBed) => void]>([
    ['its node cannot be read', 'readNode', () => undefined],
    ['its node has been uncordoned', 'tell', (bed) => bed.changeNode('n2', { unschedulable: false })],
  ])('are left where %s', async (_, operation, happen) => {
    const { bed } = drainingBed();
    const { intercept } = failing(operation, 'unknown');
    await bed.tick(async (call, act) => {
      if (call.operation === 'listGameServers') happen(bed);
      return intercept(call, act);
    });
    expect(bed.takeLog()).toMatchObject({ gameServersDeleted: [], violations: [] });
  });

  it('are listed once for all that a tick does with them', async () => {
    const { bed } = drainingBed();
    const empty = bed.addNode();
    bed.drain(empty);
    const { intercept, times } = watching();
    await bed.tick(intercept);
    expect(bed.takeLog()).toMatchObject({ gameServersDeleted: [expect.any(String)], nodesDeleted: [empty] });
    expect(times('listGameServers')).toBe(1);
  });

  it('and nodes that have none, or come after the last that may be deleted, are not even read', async () => {
    const { bed, names } = drainingBed();
    bed.limit = 1;
    const other = bed.addNode();
    bed.drain(other, 0);
    bed.addServer(other, 'Ready');
    const { intercept, times } = watching();
    await bed.tick(async (call, act) => {
      const result = act();
      // Gone by itself, after the plan and before the list.
      if (call.operation === 'snapshot') bed.removeServer(names[0] ?? '');
      return intercept(call, () => result);
    });
    expect({ first: times('readNode n2'), second: times(`readNode ${other}`) }).toEqual({ first: 0, second: 1 });
    bed.addServer('n2', 'Ready');
    bed.addServer(other, 'Ready');
    const again = watching();
    await bed.tick(again.intercept);
    expect(again.times('readNode')).toBe(1);
  });

  it.each<[string, (bed: ScalerBed, name: string) => void, deleted: number, errors: number]>([
    ['that is there no more is done with', (bed, name) => bed.removeServer(name), 0, 0],
    ['that is another of its name is left alone', (bed, name) => bed.changeServer(name, { uid: 'uid-other' }), 0, 0],
    ['that holds a session now is kept', (bed, name) => bed.changeServer(name, { state: 'Allocated' }), 0, 1],
    ['that is being deleted is left alone', (bed, name) => bed.changeServer(name, { deleting: true }), 0, 0],
    ['of which a label has changed goes all the same', (bed, name) => bed.changeServer(name, {}), 1, 0],
  ])('one that has changed %s', async (_, happen, deleted, errors) => {
    const { bed, names } = drainingBed();
    let happened = false;
    const outcome = await bed.tick(async (call, act) => {
      if (call.operation !== 'deleteGameServer' || happened) return act();
      happened = true;
      happen(bed, names[0] ?? '');
      throw new CallError('conflict', '409', 'has changed');
    });
    const log = bed.takeLog();
    expect({ count: log.gameServersDeleted.length, violations: log.violations }).toEqual({
      count: deleted,
      violations: [],
    });
    const deeds = outcome?.report.deeds.filter(({ kind }) => kind === 'server-deleted');
    expect(deeds).toEqual(deleted === 0 ? [] : [{ kind: 'server-deleted', namespace: 'default', name: names[0] }]);
    // A conflict is told where it kept a session: elsewhere nothing was lost by it.
    expect(outcome?.report.errors).toHaveLength(errors);
  });

  it('one that holds a session now, or cannot be deleted any more, counts against the limit', async () => {
    for (const change of [{ state: 'Allocated' }, { deleting: true }, { uid: 'uid-other' }]) {
      const { bed, names } = drainingBed(2);
      bed.limit = 1;
      let happened = false;
      await bed.tick(async (call, act) => {
        if (call.operation === 'deleteGameServer' && !happened) {
          happened = true;
          bed.changeServer(names[0] ?? '', change);
        }
        return act();
      });
      expect(bed.takeLog().gameServersDeleted).toEqual([]);
    }
  });

  it('are all tried where some are refused for other reasons than a webhook, and these count against the limit', async () => {
    const { bed } = drainingBed(3);
    bed.limit = 2;
    const { intercept, times } = failing('deleteGameServer', 'refused');
    await bed.tick(intercept);
    expect(times('deleteGameServer')).toBe(2);
  });
});

describe('a node that is to be cordoned', () => {
  it.each<[string, Operation, CallErrorKind]>([
    ['cannot be read', 'readNode', 'unknown'],
    ['cannot be changed', 'cordon', 'conflict'],
  ])('and %s is left, and not told as cordoned', async (_, operation, kind) => {
    const bed = bedWith(1, 0);
    const outcome = await bed.tick(failing(operation, kind).intercept);
    expect(outcome?.report.deeds).toEqual([]);
    expect(outcome?.report.errors).toMatchObject([{ kind }]);
  });

  it('and is gone meanwhile is left without a word', async () => {
    const bed = bedWith(1, 0);
    const outcome = await bed.tick(async (call, act) => {
      if (call.operation === 'readNode') bed.world.nodes.delete('n1');
      return act();
    });
    expect(outcome?.report).toMatchObject({ deeds: [], errors: [] });
  });

  it('again, to be dated, is not told as cordoned once more', async () => {
    const bed = bedWith(2, 1);
    bed.changeNode('n2', { unschedulable: true, annotations: { [MARKS.cordonedBy]: 'game' } });
    const outcome = await bed.tick();
    expect(bed.takeLog().changes).toBe(1);
    expect(outcome?.report.deeds).toEqual([]);
  });

  it('or rid of stale marks is not told as cordoned where only the marks go', async () => {
    const bed = bedWith(2, 2);
    bed.drain('n2');
    bed.changeNode('n2', { unschedulable: false });
    const outcome = await bed.tick();
    expect(bed.takeLog().changes).toBe(1);
    expect(outcome?.report.deeds).toEqual([]);
  });

  it('is not asked for any more once such calls are throttled', async () => {
    const bed = bedWith(3, 0);
    const { intercept, times } = failing('cordon', 'throttled');
    await bed.tick(intercept);
    expect({ cordons: times('cordon'), reads: times('readNode') }).toEqual({ cordons: 1, reads: 1 });
  });
});

describe('an order', () => {
  it('that is refused is told as a shortage, and other failures are not', async () => {
    const refused = await degradedAfter(bedWith(1, 2), failing('increase', 'refused').intercept);
    expect(refused).toMatchObject({ reason: 'CapacityShortage', message: 'ordering was refused: increase failed' });
    const conflict = await degradedAfter(bedWith(1, 2), failing('increase', 'conflict').intercept);
    expect(conflict.reason).toBe('AsExpected');
  });

  it('of which nobody knows is told as that, and nothing is told as ordered', async () => {
    const { reason, message, outcome } = await degradedAfter(bedWith(1, 3), failing('increase', 'unknown').intercept);
    expect(reason).toBe('Unknown');
    expect(message).toBe('whether 2 machines were ordered is not known: increase failed');
    expect(outcome?.report.deeds).toEqual([]);
  });

  it('of a group writes nothing down, whatever comes of it', async () => {
    const { intercept, times } = failing('increase', 'refused');
    await bedWith(1, 2).tick(intercept);
    expect(times('writeLedger')).toBe(0);
  });

  it('of a hook that is refused is written down as the first, and leaves nothing behind', async () => {
    const bed = bedWith(1, 2, 'custom');
    await bed.tick(failing('increase', 'refused').intercept);
    expect(bed.world.ledger).not.toHaveProperty('pendingIncrease');
  });

  it('that has been filled is forgotten', async () => {
    const bed = bedWith(1, 2, 'custom');
    await bed.tick();
    bed.addNode();
    bed.now = (bed.now + 16 * 60_000) as EpochMs;
    await bed.tick();
    expect(bed.world.ledger).not.toHaveProperty('pendingIncrease');
  });
});

describe('after the deadline', () => {
  it.each<[string, () => ScalerBed]>([
    ['nothing is ordered', () => bedWith(1, 2)],
    ['nothing is ordered of a hook', () => bedWith(1, 2, 'custom')],
    ['no node is cordoned', () => bedWith(2, 1)],
    [
      'no server is looked for',
      () => {
        const bed = bedWith(2, 1);
        bed.drain('n2', 0);
        bed.addServer('n2', 'Ready');
        return bed;
      },
    ],
    [
      'no node is looked at to be removed',
      () => {
        const bed = bedWith(2, 1);
        bed.drain('n2');
        return bed;
      },
    ],
  ])('%s, and nothing is read for it', async (_, make) => {
    const bed = make();
    const { intercept, asked } = watching();
    const outcome = await bed.tick(intercept, 0);
    expect(outcome?.report.outOfTime).toBe(true);
    const looks = ['readLedger', 'validate', 'describe', 'snapshot', 'inspect'];
    expect(asked.map((one) => one.split(' ')[0])).toEqual(looks);
  });
});
