import { describe, expect, it } from 'vitest';
import { accountWith, holding, type placementOf } from '../../test/support/builders.ts';
import type { TaskId } from '../ids.ts';
import { type Account, exchanged } from './account.ts';
import { claimsOf } from './claims.ts';
import { misfitOf } from './fit.ts';

type Wants = NonNullable<Parameters<typeof placementOf>[1]>;

const port = (value: number, ignoreCollision = false, ip = 'a') => ({ ip, value, ignoreCollision });
const volume = (mode: 'multi-writer' | 'reader-only', source: string) => ({ source, mode });

describe('the names of ports and volumes', () => {
  /** Ports of which each takes 40 bytes: 36 of its key, one of its task's id, three more. Every second may be shared. */
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) => port(1000 + from + at, (from + at) % 2 === 0, '1'.repeat(26)));
  const MOST = 96 * 1024;
  const crowd = (bytes: number): Account => {
    const ports = many(0, Math.floor(bytes / 40) - 1);
    const rest = bytes - ports.length * 40 - 'volume/'.length - 1 - 3;
    const volumes = [volume('multi-writer', 'v'.repeat(rest))];
    const claims = claimsOf({ cores: [], devices: [], ports: ports.map((one) => ({ ...one, label: '' })), volumes });
    const takes = [{ taskId: 'h' as TaskId, resources: {}, claims }];
    return exchanged(accountWith({ cores: [0] }), { gives: [], takes });
  };
  const asking = (account: Account, wants: Wants) => misfitOf(account, { gives: [], takes: [holding('t', wants)] });

  it('are written down as long as there is room, and not for one byte more', () => {
    const wants = { ports: [port(80)] }; // port/a/80, t and three more: 13 bytes
    expect(asking(crowd(MOST - 13), wants)).toBeUndefined();
    expect(asking(crowd(MOST - 12), wants)).toEqual({
      code: 'max-tasks',
      message: `the ports and volumes asked for take 13 bytes to write down, 12 of ${MOST} are left on the node`,
    });
  });

  it('take no room from what the node lists, and bar no task that names none', () => {
    expect(asking(crowd(MOST + 400), { cores: [0] })).toBeUndefined();
    expect(asking(crowd(MOST), { volumes: [volume('reader-only', 'y')] })?.code).toBe('max-tasks');
  });

  it('leave room when they are given back', () => {
    const gives = [holding('h', { ports: many(0, 1) })];
    const takes = [holding('t', { ports: many(0, 1) })];
    expect(misfitOf(crowd(MOST), { gives, takes })).toBeUndefined();
    expect(misfitOf(crowd(MOST), { gives, takes: [holding('tt', { ports: many(0, 1) })] })?.code).toBe('max-tasks');
  });
});
