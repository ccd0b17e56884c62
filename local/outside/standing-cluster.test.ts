import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isReady, stateOf } from './cluster-objects.ts';
import type { Outside } from './outside.ts';
import { startStandingCluster } from './standing-cluster.ts';

let cluster: Outside;
beforeEach(async () => {
  // Servers and clients go on as ever: only the time, and what looks at it, is the test's.
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'], now: Date.parse('2026-01-15T12:00:00Z') });
  cluster = await startStandingCluster();
});
afterEach(async () => {
  await cluster.close();
  vi.useRealTimers();
});

const MINUTE = 60_000;
const games = () => cluster.fleets.servers('game').filter((server) => stateOf(server) === 'Allocated');

test('has been there for a while when it starts: machines have joined, and games are being played', () => {
  const nodes = cluster.cluster('local').store.list('nodes');
  expect(nodes.map(isReady)).toEqual([true, true]);
  expect(nodes.map(({ metadata }) => metadata.creationTimestamp < '2026-01-15T11:55:00Z')).toEqual([true, true]);
  expect(games().length).toBeGreaterThanOrEqual(3);
  const group = cluster.groups.get('eks-gameserver');
  expect(group).toMatchObject({ min: 0, max: 40, desired: 2 });
});

test('lives on though nobody asks for anything: games end, and others begin', () => {
  const before = new Set(games().map(({ metadata }) => metadata.uid));
  const played = new Set<string>();
  for (let minute = 0; minute < 10; minute++) {
    vi.advanceTimersByTime(MINUTE);
    expect(games().length).toBeGreaterThanOrEqual(3);
    for (const { metadata } of games()) played.add(metadata.uid);
  }
  expect(played.size).toBeGreaterThan(8);
  expect(games().filter(({ metadata }) => before.has(metadata.uid))).toEqual([]);
  expect(cluster.killedSessions).toEqual([]);
});

test('a server that somebody has allocated by hand is in use until they end it', () => {
  const ready = cluster.fleets.servers('game').find((server) => stateOf(server) === 'Ready');
  const { name, uid } = ready?.metadata ?? { name: 'none', uid: 'none' };
  const allocated = { state: 'Allocated' };
  cluster.scene.change('gameservers', name, (one) => ({ ...one, status: { ...one.status, ...allocated } }), 'default');
  for (let minute = 0; minute < 10; minute++) vi.advanceTimersByTime(MINUTE);
  expect(games().map(({ metadata }) => metadata.uid)).toContain(uid);
});

test('ends with its timer', async () => {
  await cluster.close();
  expect(vi.getTimerCount()).toBe(0);
  cluster = await startStandingCluster();
});
