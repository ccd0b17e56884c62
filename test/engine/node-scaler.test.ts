import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EpochMs, isoTime } from '../../lib/time.ts';
import { type Engine, startEngine } from '../../local/engine.ts';
import { MovableClock } from '../../local/functions/movable-clock.ts';
import { type Outside, startOutside } from '../../local/outside/outside.ts';

/** The node scaler as it is deployed: its bundle, its schedule, and the real clients, against a simulated EKS. */

const SCALER = 'NodeScaler';
const CLUSTER = 'us-east-1/local';
const MINUTE = 60_000;

const clock = new MovableClock();
clock.set(Date.parse('2026-01-15T12:00:00Z') as EpochMs);
let engine: Engine;

/** Runs the tick of the present minute, as whoever tries something out does. */
async function invoke(): Promise<{ readonly clusters: readonly object[] }> {
  const event = { apiVersion: 'berth/v1', kind: 'ScalerTick', scheduledTime: isoTime(clock.now()) };
  const result = await engine.functions.get(SCALER)?.invoke(event);
  if (result?.status !== 'returned') throw new Error(JSON.stringify(result));
  return JSON.parse(result.payload);
}

/** Moves the clock minute by minute; everything that is due happens. */
async function pass(minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    clock.set((clock.now() + MINUTE) as EpochMs);
    await engine.eventSources.idle(SCALER);
  }
}

describe('with an outside', () => {
  let outside: Outside;

  beforeAll(async () => {
    outside = await startOutside({
      clock: () => clock.now(),
      clusters: [
        {
          ...{ name: 'local', region: 'us-east-1' },
          access: { secretOf: (id) => (id === 'local' ? 'local' : undefined) },
          nodegroups: [{ name: 'games', max: 5, desired: 1 }],
        },
      ],
    });
    engine = await startEngine({ outside: outside.endpoints, functionClock: clock, schedules: true });
  });
  afterAll(async () => {
    await engine.stop();
    await outside.close();
  });

  const object = () => outside.cluster().store.get('gameservernodes', 'game') as { status?: Record<string, unknown> };
  const retarget = (replicas: number) => {
    const { store } = outside.cluster();
    const there = store.get('gameservernodes', 'game');
    const spec = { replicas, provider: 'eks', config: { nodegroup: 'games' } };
    const kind = { apiVersion: 'stable.agones.dev/v1alpha1', kind: 'GameServerNode' };
    if (there === undefined) store.create('gameservernodes', { ...kind, metadata: { name: 'game' }, spec });
    else store.update('gameservernodes', { ...there, spec });
  };
  const updates = () => engine.meter.read()[SCALER]?.UpdateItem?.requests ?? 0;
  const reasons = () =>
    outside
      .cluster()
      .store.list('events')
      .map((event) => (event as { reason?: string }).reason);

  test('a schedule runs it every minute, and a pool comes to its target and back', async () => {
    retarget(3);
    await pass(6);
    expect(object().status).toMatchObject({
      observedGeneration: 1,
      effectiveTarget: 3,
      nodes: { active: 3, pending: 0 },
    });
    retarget(1);
    await pass(8);
    expect(object().status).toMatchObject({ observedGeneration: 2, nodes: { active: 1, draining: 0 } });
    expect(outside.cluster().store.list('nodes')).toHaveLength(1);
    expect(new Set(reasons())).toEqual(new Set(['NodesOrdered', 'NodeCordoned', 'MachineEnded', 'NodeRemoved']));
    expect(outside.violations).toEqual([]);
  });

  test('an idle tick asks DynamoDB twice, and writes nothing to the cluster', async () => {
    await pass(1);
    const [before, asked] = [outside.requests.length, updates()];
    await pass(1);
    expect(updates() - asked).toBe(2);
    expect(Object.keys(engine.meter.read()[SCALER] ?? {})).toEqual(['UpdateItem']);
    const more = outside.requests.slice(before).map(({ operation }) => operation);
    expect(more.filter((operation) => !/^(list|Describe)/.test(operation))).toEqual([]);
  });

  test('a tick that was run by the schedule is past for whoever invokes it again', async () => {
    await pass(1);
    expect(await invoke()).toEqual({ clusters: [{ cluster: CLUSTER, outcome: 'past' }] });
  });
});

describe('without an outside', () => {
  beforeAll(async () => {
    engine = await startEngine({ functionClock: clock, schedules: true });
  });
  afterAll(() => engine.stop());

  test('it is there, finds no cluster, asks no AWS, and no schedule runs it', async () => {
    expect(engine.eventSources.all.map(({ functionName }) => functionName)).not.toContain(SCALER);
    expect(await invoke()).toEqual({ clusters: [{ cluster: CLUSTER, outcome: 'unobserved' }] });
  });
});
