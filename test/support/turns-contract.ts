import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { CallError } from '../../lib/scaler/call-error.ts';
import type { Ledger } from '../../lib/scaler/observation.ts';
import type { Turn, TurnRequest, Turns } from '../../lib/scaler/turn.ts';
import type { EpochMs } from '../../lib/time.ts';

const START = Date.UTC(2027, 0, 1) as EpochMs;
const at = (seconds: number) => (START + seconds * 1000) as EpochMs;
const OBJECT = 'game.with-dots';

let made = 0;

/** What every store of leases and ledgers owes. */
export function turnsContract(open: () => Turns): void {
  /** Requests of one cluster that nobody has seen before; a lease is of a minute. */
  const clusterOf = () => {
    const turns = open();
    const cluster = `eu-central-1/contract-${made++}`;
    const request = (seconds: number, more: Partial<TurnRequest> = {}): TurnRequest => {
      const now = more.now ?? at(seconds);
      const until = (now + 60_000) as EpochMs;
      return { cluster, scheduledAt: at(seconds), holder: randomUUID(), now, until, ...more };
    };
    const kindOf = async (asked: TurnRequest) => (await turns.begin(asked)).kind;
    return { turns, request, kindOf, begin: (asked: TurnRequest) => begun(turns, asked) };
  };

  describe('a turn', () => {
    test('begins once for each tick, in order, whoever asks', async () => {
      const { request, kindOf, begin } = clusterOf();
      await (await begin(request(60))).end([]);
      expect(await kindOf(request(60))).toBe('past');
      expect(await kindOf(request(0, { now: at(61) }))).toBe('past');
      expect(await kindOf(request(120))).toBe('begun');
    });

    test('is not begun while another has the cluster, nor before its lease has expired', async () => {
      const { request, kindOf, begin } = clusterOf();
      await begin(request(0));
      expect(await kindOf(request(30))).toBe('held');
      expect(await kindOf(request(31, { now: at(59.999) }))).toBe('held');
      expect(await kindOf(request(31, { now: at(60) }))).toBe('begun');
    });

    test('is that of one alone of many that ask at the same time', async () => {
      const { request, kindOf } = clusterOf();
      const kinds = await Promise.all(Array.from({ length: 8 }, () => kindOf(request(0))));
      expect(kinds.toSorted()).toEqual(['begun', ...Array(7).fill('past')]);
      const later = await Promise.all(Array.from({ length: 8 }, () => kindOf(request(90))));
      expect(later.toSorted()).toEqual(['begun', ...Array(7).fill('past')]);
    });

    test('is begun by who has begun it already: its answer may have got lost', async () => {
      const { request, kindOf } = clusterOf();
      const asked = request(0);
      expect([await kindOf(asked), await kindOf(asked)]).toEqual(['begun', 'begun']);
    });

    test('of one cluster holds up no other', async () => {
      const [one, other] = [clusterOf(), clusterOf()];
      await one.begin(one.request(0));
      expect(await other.kindOf(other.request(0))).toBe('begun');
    });

    test('is not ended by who has lost it', async () => {
      const { request, kindOf, begin } = clusterOf();
      const lost = await begin(request(0));
      await begin(request(60));
      await lost.end([]);
      expect(await kindOf(request(90))).toBe('held');
    });
  });

  describe('a ledger', () => {
    const full: Ledger = {
      version: 0,
      pendingDeletions: [
        { node: 'n1', uid: 'u1', instance: 'i-1', since: at(1) },
        { node: 'n2', uid: 'u2', since: at(2) },
      ],
      pendingIncrease: { count: 3, since: at(3), baseline: ['u1', 'u2', 'ü3'] },
      detectedProvider: 'eks',
      registration: { pool: 'prod', digest: 'd', grouped: true, ended: ['u3'] },
    };
    const bare: Ledger = { version: 0, pendingDeletions: [] };

    test('is empty at first, and then what was written, in this turn and in the next', async () => {
      const { request, begin } = clusterOf();
      const turn = await begin(request(0));
      const ledger = turn.ledgerOf(OBJECT);
      expect(await ledger.read()).toEqual(bare);
      expect(turn.ledgers.size).toBe(0);
      const written = await ledger.write(full);
      expect(written).toEqual({ ...full, version: 1 });
      expect(await ledger.read()).toEqual(written);
      const emptied = await ledger.write({ version: 1, pendingDeletions: [], detectedProvider: 'asg' });
      expect(emptied).toEqual({ version: 2, pendingDeletions: [], detectedProvider: 'asg' });
      await turn.ledgerOf('other').write(full);
      await turn.end([]);
      const next = await begin(request(60));
      expect(next.ledgers).toEqual(
        new Map([
          [OBJECT, emptied],
          ['other', written],
        ]),
      );
      expect(await next.ledgerOf(OBJECT).read()).toEqual(emptied);
    });

    test('is forgotten at the end of a turn, if that is asked for', async () => {
      const { request, begin } = clusterOf();
      const turn = await begin(request(0));
      await turn.ledgerOf('gone').write(full);
      await turn.ledgerOf(OBJECT).write(full);
      await turn.end(['gone', 'never-there']);
      const next = await begin(request(60));
      expect([...next.ledgers.keys()]).toEqual([OBJECT]);
      expect(await next.ledgerOf('gone').write(bare)).toEqual({ ...bare, version: 1 });
    });

    test('is not written over another version than the one that was read', async () => {
      const { request, begin } = clusterOf();
      const ledger = (await begin(request(0))).ledgerOf(OBJECT);
      await ledger.write(full);
      await ledger.write({ ...full, version: 1 });
      expect(await errorOf(ledger.write({ ...full, version: 0 }))).toMatchObject({
        kind: 'conflict',
        code: 'LedgerConflict',
      });
      expect(await ledger.read()).toMatchObject({ version: 2 });
    });

    test('is not written by who was paused past the lease and has lost it, not even the first time', async () => {
      const { request, begin } = clusterOf();
      const paused = await begin(request(0));
      await paused.ledgerOf(OBJECT).write(full);
      const other = await begin(request(60));
      const lost = { kind: 'conflict', code: 'LeaseLost' };
      expect(await errorOf(paused.ledgerOf(OBJECT).write({ ...bare, version: 1 }))).toMatchObject(lost);
      expect(await errorOf(paused.ledgerOf('new').write(bare))).toMatchObject(lost);
      // Nor once that one has given the cluster back.
      await other.end([]);
      expect(await errorOf(paused.ledgerOf('new').write(bare))).toMatchObject(lost);
      await paused.end([OBJECT]);
      const next = await begin(request(120));
      expect(next.ledgers).toEqual(new Map([[OBJECT, { ...full, version: 1 }]]));
    });

    test('of a pool of five thousand nodes fits, and what would not fit is refused before anything is written', async () => {
      const { request, begin } = clusterOf();
      const turn = await begin(request(0));
      const order = (count: number): Ledger => {
        const baseline = Array.from({ length: count }, () => randomUUID());
        return { ...bare, pendingIncrease: { count, since: at(0), baseline } };
      };
      const large = order(5_000);
      await turn.ledgerOf('one').write(large);
      await turn.ledgerOf('two').write(order(5_000));
      const refused = await errorOf(turn.ledgerOf('three').write(order(10_000)));
      expect(refused).toMatchObject({ kind: 'refused', code: 'LedgerTooLarge' });
      expect(refused.message).toMatch(/of three takes \d+ bytes, and that of the other objects .*: split the pool/);
      await turn.ledgerOf('three').write(bare);
      await turn.end([]);
      expect((await begin(request(60))).ledgers.get('one')).toEqual({ ...large, version: 1 });
    });
  });
}

async function begun(turns: Turns, request: TurnRequest): Promise<Turn> {
  const outcome = await turns.begin(request);
  if (outcome.kind !== 'begun') throw new Error(`the turn is ${outcome.kind}`);
  return outcome.turn;
}

async function errorOf(promise: Promise<unknown>): Promise<CallError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CallError)) throw new Error(`expected a CallError, got ${String(error)}`);
  return error;
}
