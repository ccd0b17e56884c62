import { CallError } from '../../lib/scaler/call-error.ts';
import type { Ledger } from '../../lib/scaler/observation.ts';
import type { Turn, TurnOutcome, TurnRequest, Turns } from '../../lib/scaler/turn.ts';
import { ledgerBytes, ledgerItem, mustFit } from '../../lib/store/ledger-item.ts';

/** What is kept of one cluster. */
interface Kept {
  holder?: string | undefined;
  until: number;
  lastTick: number;
  readonly ledgers: Map<string, Ledger>;
}

/**
 * Leases and ledgers in memory, for histories of thousands of ticks; that they and DynamoDB agree is what
 * `turns-contract.ts` holds.
 */
export class MemoryTurns implements Turns {
  readonly clusters = new Map<string, Kept>();
  /** Requests that DynamoDB would have been sent. */
  requests = 0;

  async begin({ cluster, scheduledAt, holder, now, until }: TurnRequest): Promise<TurnOutcome> {
    this.requests += 1;
    const kept: Kept = this.clusters.get(cluster) ?? {
      until: 0,
      lastTick: Number.NEGATIVE_INFINITY,
      ledgers: new Map(),
    };
    const own = kept.holder === holder && kept.lastTick === scheduledAt;
    if (!own && kept.lastTick >= scheduledAt) return { kind: 'past' };
    if (!own && kept.holder !== undefined && kept.until > now) return { kind: 'held' };
    Object.assign(kept, { holder, until, lastTick: scheduledAt });
    this.clusters.set(cluster, kept);
    return { kind: 'begun', turn: this.#turn(kept, holder) };
  }

  #turn(kept: Kept, holder: string): Turn {
    const mine = new Map(kept.ledgers);
    return {
      ledgers: new Map(mine),
      ledgerOf: (object) => ({
        read: async () => mine.get(object) ?? { version: 0, pendingDeletions: [] },
        write: async (next) => {
          const written = { ...next, version: next.version + 1 };
          mustFit(object, ledgerItem(written), bytesBeside(mine, object));
          this.requests += 1;
          if (kept.holder !== holder) throw new CallError('conflict', 'LeaseLost', 'taken over');
          if ((kept.ledgers.get(object)?.version ?? 0) !== next.version) {
            throw new CallError('conflict', 'LedgerConflict', 'changed');
          }
          kept.ledgers.set(object, written);
          mine.set(object, written);
          return written;
        },
      }),
      end: async (forget) => {
        this.requests += 1;
        if (kept.holder !== holder) return;
        kept.holder = undefined;
        for (const object of forget) kept.ledgers.delete(object);
      },
    };
  }
}

function bytesBeside(ledgers: ReadonlyMap<string, Ledger>, object: string): number {
  const others = [...ledgers].filter(([name]) => name !== object);
  return others.reduce((sum, [name, ledger]) => sum + ledgerBytes(name, ledgerItem(ledger)), 0);
}
