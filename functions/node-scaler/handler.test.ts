import type { Context } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { CallError } from '../../lib/scaler/call-error.ts';
import type { ClusterSettings } from '../../lib/scaler/cluster-settings.ts';
import type { GameServerNodeObject } from '../../lib/scaler/observation.ts';
import type { ReachedCluster } from '../../lib/scaler/run-cluster.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from '../../test/scaler/bed.ts';
import { type Database, startDatabase } from '../../test/support/database.ts';
import { keepOutput, type Output } from '../../test/support/output.ts';
import type { handler as Handler } from './handler.ts';
import { reachCluster } from './reach.ts';

vi.mock('./reach.ts', () => ({ reachCluster: vi.fn() }));

const TOKEN = 'k8s-aws-v1.secret';
const ROLE = 'arn:aws:iam::111122223333:role/x';
const CLUSTERS = [
  { name: 'game', region: 'eu-central-1' },
  { name: 'other', region: 'eu-west-1', roleArn: ROLE, autoScalingGroups: ['a'] },
];

let database: Database;
let handler: typeof Handler;
let output: Output;
/** How each cluster is reached, by name. */
let reached: Map<string, () => Promise<ReachedCluster>>;
let statuses: unknown[];
/** Clusters the connections to which were ended. */
let closed: string[];
/** A minute of its own for each tick: the table keeps what was run. */
let last = Date.UTC(2026, 0, 1);

beforeAll(async () => {
  database = await startDatabase();
  Object.assign(process.env, database.env, { BERTH_CLUSTERS: JSON.stringify(CLUSTERS) });
  ({ handler } = await import('./handler.ts'));
});
afterAll(() => database.stop());
beforeEach(() => {
  vi.stubEnv('POWERTOOLS_METRICS_NAMESPACE', 'berth');
  output = keepOutput();
  [reached, statuses, closed] = [new Map(), [], []];
  for (const { name } of CLUSTERS) reached.set(name, async () => clusterWith(new ScalerBed('minikube', 0)));
  vi.mocked(reachCluster).mockReset();
  vi.mocked(reachCluster).mockImplementation(async ({ name }: ClusterSettings) => {
    const reach = reached.get(name);
    if (reach === undefined) throw new Error(name);
    const close = () => void closed.push(name);
    return { ...(await reach()), close };
  });
});

function clusterWith(bed: ScalerBed, more: Partial<ReachedCluster['objects']> = {}): ReachedCluster {
  const createdAt = bed.now;
  const object = { name: 'pool', uid: 'u', resourceVersion: '1', generation: 1, createdAt, status: undefined };
  return {
    objects: {
      list: async (): Promise<GameServerNodeObject[]> => [{ ...object, spec: bed.spec() }],
      writeStatus: async (_, status) => void statuses.push(status),
      tell: async () => undefined,
      ...more,
    },
    cluster: bed.world.cluster,
    provider: () => bed.world.provider,
    locate: async () => new Map(),
  };
}

const timeOf = (at: number) => new Date(at).toISOString().replace('.000', '');
const eventAt = (at: number, more: object = {}) => ({
  ...{ apiVersion: 'berth/v1', kind: 'ScalerTick', scheduledTime: timeOf(at) },
  ...more,
});
const context = (remaining = 55_000) => ({ getRemainingTimeInMillis: () => remaining }) as Context;
const nextMinute = () => {
  last += 60_000;
  return last;
};
const tick = (at = nextMinute(), remaining?: number) => handler(eventAt(at), context(remaining));
const lines = () => output.objects().filter(({ message }) => message !== undefined);
const metric = (name: string) =>
  output.objects().flatMap((line) => (name in line ? [`${line.cluster} ${line.class ?? ''} ${line[name]}`] : []));

describe('a tick', () => {
  test('is run of every cluster, and answered with what came of each', async () => {
    expect(await tick()).toEqual({
      clusters: [
        { cluster: 'eu-central-1/game', outcome: 'done', objects: 1 },
        { cluster: 'eu-west-1/other', outcome: 'done', objects: 1 },
      ],
    });
    const settings = vi.mocked(reachCluster).mock.calls.map(([one]) => one);
    expect(settings.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { ...CLUSTERS[0], autoScalingGroups: [] },
      CLUSTERS[1],
    ]);
    expect(statuses).toHaveLength(2);
    expect(closed.toSorted()).toEqual(['game', 'other']);
    expect(metric('scaler.cluster_unobserved').toSorted()).toEqual(['eu-central-1/game  0', 'eu-west-1/other  0']);
    // Nothing has changed, and nothing is wrong.
    expect(lines()).toEqual([]);
    expect(output.texts()).toEqual([]);
  });

  test('that is delivered twice, or two at once, is run once', async () => {
    const at = nextMinute();
    const answers = await Promise.all([tick(at), tick(at)]);
    const outcomes = answers.map(({ clusters }) => clusters[0]?.outcome);
    expect(outcomes.toSorted()).toEqual(['done', 'past']);
    expect((await tick(at)).clusters.map(({ outcome }) => outcome)).toEqual(['past', 'past']);
    expect((await tick(at - 60_000)).clusters.map(({ outcome }) => outcome)).toEqual(['past', 'past']);
    expect(statuses).toHaveLength(2);
  });

  test('of a cluster that fails in any way holds up no other, and says of what class it was', async () => {
    reached.set('game', async () => {
      throw new CallError('denied', '403', 'no right to');
    });
    expect((await tick()).clusters.map(({ outcome }) => outcome)).toEqual(['unobserved', 'done']);
    expect(metric('scaler.errors')).toEqual(['eu-central-1/game denied 1']);
    expect(metric('scaler.cluster_unobserved').toSorted()).toEqual(['eu-central-1/game  1', 'eu-west-1/other  0']);
    expect(lines()).toMatchObject([
      { level: 'ERROR', cluster: 'eu-central-1/game', error: { kind: 'denied', code: '403' } },
    ]);

    output = keepOutput();
    reached.set('game', async () => {
      throw Object.assign(new TypeError('a bug'), { request: { headers: { authorization: `Bearer ${TOKEN}` } } });
    });
    expect((await tick()).clusters.map(({ outcome }) => outcome)).toEqual(['failed', 'done']);
    expect(metric('scaler.errors')).toEqual(['eu-central-1/game bug 1']);
    const stack = expect.stringContaining('TypeError: a bug');
    expect(lines()).toMatchObject([{ message: 'tick of the cluster failed', error: { name: 'TypeError', stack } }]);
    expect(JSON.stringify(output.objects())).not.toContain(TOKEN);
  });

  test('of which one cluster never answers keeps no other from being done', async () => {
    let release: (() => void) | undefined;
    const others = new Promise<void>((resolve) => {
      release = resolve;
    });
    reached.set('game', async () => {
      await others;
      throw new CallError('unknown', 'Timeout', 'late');
    });
    reached.set('other', async () =>
      clusterWith(new ScalerBed('minikube', 0), {
        writeStatus: async () => release?.(),
      }),
    );
    expect((await tick()).clusters.map(({ outcome }) => outcome)).toEqual(['unobserved', 'done']);
  });

  test('begins nothing once four fifths of its time are over', async () => {
    const bed = new ScalerBed('eks', 2);
    bed.now = Date.now() as EpochMs;
    reached.set('game', async () => clusterWith(bed));
    await tick(undefined, 11_000);
    expect(bed.world.log.changes).toBe(0);
    expect(lines()).toMatchObject([{ message: 'pool is not as it should be', object: 'pool', outOfTime: true }]);
    output = keepOutput();
    await tick();
    expect(bed.world.group?.desired).toBe(2);
    expect(lines()).toMatchObject([
      { level: 'INFO', message: 'pool changed', object: 'pool', target: 2, deeds: { increased: 2 } },
    ]);
  });
});

describe('an event', () => {
  test.each<[what: string, event: unknown, says: string]>([
    ['of another kind', eventAt(0, { kind: 'SweepPage' }), 'kind: expected "ScalerTick", got "SweepPage"'],
    ['without a time', eventAt(0, { scheduledTime: undefined }), 'scheduledTime: expected a time as in RFC 3339'],
    [
      'whose placeholder was not filled in',
      eventAt(0, { scheduledTime: '<aws.scheduler.scheduled-time>' }),
      'got "<aws',
    ],
    ['that is none', null, 'the event of the schedule'],
  ])('%s is refused', async (_, event, says) => {
    await expect(handler(event, context())).rejects.toThrow(says);
    expect(reachCluster).not.toHaveBeenCalled();
  });

  test('from far ahead is refused: no tick would be run until then', async () => {
    await expect(tick(Date.now() + 3_600_000)).rejects.toThrow('would keep all others from being run');
  });
});
