import { describe, expect, test } from 'vitest';
import type { Ledger } from '../scaler/observation.ts';
import type { EpochMs } from '../time.ts';
import { marshall, unmarshall } from './dynamo.ts';
import { ledgerBytes, ledgerFromItem, ledgerItem } from './ledger-item.ts';

const NOW = Date.UTC(2027, 0, 1) as EpochMs;
const BARE: Ledger = { version: 3, pendingDeletions: [{ node: 'n', uid: 'u', since: NOW }], detectedProvider: 'eks' };
const machines = (count: number) => Array.from({ length: count }, (_, at) => ({ instance: `i-${at}`, since: NOW }));

/** What comes back of a ledger, with `more` beside it, as the table keeps it. */
function storedAndRead(more: object): Ledger | undefined {
  return ledgerFromItem(unmarshall(marshall({ ...ledgerItem(BARE), ...more })));
}

describe('machines without a node', () => {
  test('come back as they were', () => {
    const ledger = { ...BARE, unjoined: machines(25) };
    expect(ledgerFromItem(unmarshall(marshall(ledgerItem(ledger))))).toEqual(ledger);
  });

  test('are none in an item that was written before there were any', () => {
    expect(storedAndRead({})).toEqual(BARE);
  });

  test.each<[what: string, unjoined: unknown]>([
    ['a text', 'i-1'],
    ['a map', { 'i-1': NOW }],
    ['null', null],
    ['machines without a time', [{ instance: 'i-1' }]],
    ['a time that is none', [{ instance: 'i-1', since: 'yesterday' }]],
    ['an id that is none', [{ instance: 7, since: NOW }]],
    ['an id of kilobytes', [{ instance: 'i'.repeat(5_000), since: NOW }]],
    ['more machines than are remembered', machines(26)],
  ])('that are %s keep nothing else from being read', (_, unjoined) => {
    expect(storedAndRead({ unjoined })).toEqual(BARE);
  });

  test('take two kilobytes of a ledger at most', () => {
    const ids = machines(25).map(({ since }, at) => ({ instance: `i-${String(at).padStart(17, '0')}`, since }));
    const [with25, without] = [ledgerItem({ ...BARE, unjoined: ids }), ledgerItem(BARE)];
    expect(ledgerBytes('game', with25) - ledgerBytes('game', without)).toBeLessThan(2_048);
  });
});
