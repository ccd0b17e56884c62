import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manifests } from '../../local/kubernetes/api-test-bed.ts';
import { type Outside, startOutside } from '../../local/outside/outside.ts';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { berthCommand } from '../../test/support/command.ts';
import { scalerStore } from '../store/scaler-store.ts';
import { CLUSTERS_ENV } from '../store/tables.ts';
import { type EpochMs, systemClock } from '../time.ts';

const CLUSTER = 'us-east-1/game';

let bed: BerthBed;
let outside: Outside;
let folder: string;
beforeAll(async () => {
  bed = await startBerthBed();
  const secretOf = (id: string) => (id === bed.env.AWS_ACCESS_KEY_ID ? bed.env.AWS_SECRET_ACCESS_KEY : undefined);
  outside = await startOutside({
    clock: systemClock,
    dynamics: false,
    clusters: [
      { name: 'game', region: 'us-east-1', access: { secretOf }, nodegroups: [group('games', 3), group('lobby', 1)] },
      { name: 'bare', region: 'us-east-1', access: { secretOf }, manifests: await manifests('rbac.yaml') },
    ],
  });
  folder = await mkdtemp(join(tmpdir(), 'berth-scaler-'));
  for (const [node, pool] of [...Array(3).keys()].map((at) => [at, 'games'] as const)) addNode(node, pool);
  addNode(9, 'lobby');
  addPool('games', { replicas: 1, provider: 'eks', config: { nodegroup: 'games' } });
});
afterAll(async () => {
  await outside.close();
  await bed.stop();
  await rm(folder, { recursive: true });
});

const instanceOf = (at: number) => `i-${String(at).padStart(17, '0')}`;

function group(name: string, machines: number) {
  const first = name === 'lobby' ? 9 : 0;
  const instances = Array.from({ length: machines }, (_, at) => ({ id: instanceOf(first + at), zone: 'us-east-1a' }));
  return { name, max: 20, zones: ['us-east-1a'] as const, instances };
}

function addNode(at: number, nodegroup: string): void {
  const providerId = `aws:///us-east-1a/${instanceOf(at)}`;
  outside.scene.addNode({ name: `n${at}`, providerId, zone: 'us-east-1a', nodegroup });
}

function addPool(name: string, spec: object): void {
  const kind = { apiVersion: 'stable.agones.dev/v1alpha1', kind: 'GameServerNode' };
  outside.scene.add('gameservernodes', { ...kind, metadata: { name }, spec });
}

const environment = () => ({
  ...bed.env,
  AWS_ENDPOINT_URL_EKS: outside.endpoints.eks,
  AWS_ENDPOINT_URL_AUTO_SCALING: outside.endpoints.autoScaling,
  [CLUSTERS_ENV]: JSON.stringify([{ name: 'game', region: 'us-east-1' }]),
});
const berth = (...words: string[]) => berthCommand(environment(), ['scaler', ...words]);

describe('berth scaler check', () => {
  it('tells what the next tick would do, object by object, and changes nothing', async () => {
    const before = [outside.requests.length, outside.kubernetes.requests.length] as const;
    const { status, out, err } = await berth('check');
    expect(err).toBe('');
    expect(status).toBe(0);
    expect(out).toMatch(/^cluster us-east-1\/game, no tick yet\nOBJECT +PROVIDER +TARGET +ACTIVE/);
    expect(out).toMatch(/\ngames +eks, group of 3 \(0 to 20\) +1 +3 +0 +0 +0 +ScalingDown +-\n/);
    expect(out).toMatch(/games: would cordon node n\d\ngames: would cordon node n\d\n/);
    const changing = outside.requests
      .slice(before[0])
      .filter(({ operation }) => !/^(list|get|Describe)/.test(operation));
    expect(changing).toEqual([]);
  });

  it('says it as JSON', async () => {
    const { out } = await berth('check', '--json');
    expect(JSON.parse(out)).toMatchObject({
      clusters: [
        { cluster: CLUSTER, pools: [{ object: 'games', would: [{ kind: 'cordoned' }, { kind: 'cordoned' }] }] },
      ],
    });
  });

  it('says what is wrong with an object, and answers no', async () => {
    addPool('wrong', { replicas: 1, provider: 'eks', config: { nodegroup: 'nowhere' } });
    const { status, out } = await berth('check');
    expect(status).toBe(3);
    expect(out).toMatch(/\nwrong +- +- +- +- +- +- +InvalidConfig +-\n/);
    expect(out).toMatch(/\nwrong: InvalidConfig: spec\.config\.nodegroup: .+\n/);
    expect(out).toContain('\nwrong: would do nothing');
    outside.scene.remove('gameservernodes', 'wrong');
  });

  it('goes by a kubeconfig', async () => {
    const file = join(folder, 'kubeconfig.yaml');
    writeFileSync(file, outside.kubernetes.kubeconfig());
    expect(await berth('check', '--kubeconfig', file)).toMatchObject({ status: 0, err: '' });
    const absent = await berth('check', '--kubeconfig', join(folder, 'none.yaml'));
    expect(absent.status).toBe(2);
    expect(absent.err).toContain('none.yaml');
  });
});

const objectText = (name: string, spec: object) =>
  JSON.stringify({ apiVersion: 'stable.agones.dev/v1alpha1', kind: 'GameServerNode', metadata: { name }, spec });
const games = { provider: 'eks', config: { nodegroup: 'games' } };

describe('berth scaler check -f', () => {
  const berthOf = (words: readonly string[], ...objects: string[]) =>
    berthCommand(environment(), ['scaler', 'check', '-f', '-', ...words], objects.join('\n---\n'));

  it('tells what the next tick would do if the file were applied, and changes nothing', async () => {
    addPool('lounge', { replicas: 1, provider: 'eks', config: { nodegroup: 'lobby' } });
    const before = outside.requests.length;
    const { status, out, err } = await berthOf([], objectText('games', { ...games, replicas: 5 }));
    expect(err).toBe('');
    expect(status).toBe(0);
    expect(out).toMatch(
      /^standard input, 1 GameServerNode\nOBJECT .+\ngames +standard input:1 +Accepted\n\ngames: always 5\n/,
    );
    expect(out).toMatch(/\n\ncluster us-east-1\/game, /);
    expect(out).toContain('\ngames: would order 2 nodes\n');
    expect(out).toContain('\nlounge: would do nothing');
    const asked = outside.requests.slice(before);
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.filter(({ operation }) => !/^(list|get|Describe)/.test(operation))).toEqual([]);
    expect((await berth('check')).out).toContain('games: would cordon');
  });

  it('shows that a new object selects the pool of one that is there, whose age stays', async () => {
    const both = [objectText('also', { ...games, replicas: 2 }), objectText('games', { ...games, replicas: 3 })];
    const { status, out } = await berthOf([], ...both);
    expect(status).toBe(3);
    expect(out).toMatch(/\nalso +standard input:1 +ConflictingGameServerNode\ngames +standard input:3 +Accepted\n/);
    expect(out).toMatch(/\nalso +- .+ ConflictingGameServerNode +-\ngames +eks, .+ AtTarget +-\n/);
    const json = JSON.parse((await berthOf(['--json'], ...both)).out);
    expect(json.file.pools).toMatchObject([
      { object: 'also', well: false },
      { object: 'games', well: true },
    ]);
    expect(json.clusters).toMatchObject([{ cluster: CLUSTER, pools: [{ object: 'also' }, { object: 'games' }, {}] }]);
  });

  it('says the same of an object in both tables, and shows no timetable of what is not acted on', async () => {
    const { status, out } = await berthOf(
      [],
      objectText('new', { replicas: 2, ...games, config: { nodegroup: 'no' } }),
    );
    expect(status).toBe(3);
    expect(out).toMatch(/\nnew +standard input:1 +InvalidConfig\nnew: spec\.config\.nodegroup: .+\n\ncluster /);
    expect(out).toMatch(/\nnew +- .+ InvalidConfig +-\n/);
    expect(out).not.toContain('Accepted');
    expect(out).not.toContain('always 2');
  });

  it('asks no cluster if that is said', async () => {
    const before = outside.requests.length;
    const { status, out } = await berthOf(['--offline'], objectText('games', { ...games, replicas: 5 }));
    expect(status).toBe(0);
    expect(out).not.toMatch(/^cluster /m);
    expect(outside.requests.length).toBe(before);
  });

  it('is for one cluster, which knows the kind', async () => {
    const clusters = JSON.stringify(['game', 'bare'].map((name) => ({ name, region: 'us-east-1' })));
    const run = (...words: string[]) => {
      const env = { ...environment(), [CLUSTERS_ENV]: clusters };
      return berthCommand(env, ['scaler', 'check', '-f', '-', ...words], objectText('new', { replicas: 1 }));
    };
    expect(await run()).toMatchObject({ status: 2, err: expect.stringContaining('--file is for one cluster') });
    const bare = await run('--cluster', 'bare');
    expect(bare.status).toBe(3);
    expect(bare.out).toMatch(/\nnew +standard input:1 +Accepted\n/);
    expect(bare.out).toContain('it does not know the kind GameServerNode');
    outside.scene.remove('gameservernodes', 'lounge');
  });
});

describe('nodes that an object has cordoned which is gone', () => {
  const metal = { provider: 'eks', config: { nodegroup: 'metal' }, replicas: 2 };
  const told = 'm1, m2: cordoned by metal, which is gone: kubectl uncordon m1 m2, or make metal again';
  beforeAll(() => {
    const annotations = { 'stable.agones.dev/cordoned-by': 'metal' };
    for (const name of ['m2', 'm1']) outside.scene.addNode({ name, unschedulable: true, annotations });
  });
  afterAll(() => {
    for (const name of ['m2', 'm1']) outside.scene.remove('nodes', name);
  });

  it.each(['status', 'check'])('are told by %s, which answers no', async (command) => {
    const { status, out, err } = await berth(command);
    expect([status, err]).toEqual([3, '']);
    expect(out.trimEnd().split('\n').at(-1)).toBe(told);
    const { clusters } = JSON.parse((await berth(command, '--json')).out);
    expect(clusters).toMatchObject([{ leftCordoned: [{ object: 'metal', nodes: ['m1', 'm2'] }] }]);
  });

  it('are told no more where the object would be there again', async () => {
    const run = (object: string) => berthCommand(environment(), ['scaler', 'check', '-f', '-'], object);
    expect((await run(objectText('metal', metal))).out).not.toContain('is gone');
    expect((await run(objectText('games', { ...games, replicas: 3 }))).out).toContain(told);
  });

  it('are looked for by no command that does not tell them', async () => {
    const before = outside.kubernetes.requests.length;
    expect(await berth('timetable')).toMatchObject({ status: 0 });
    expect(outside.kubernetes.requests.slice(before).map(({ path }) => path)).not.toContain('/api/v1/nodes');
  });
});

describe('berth scaler timetable', () => {
  it('shows how the targets of the objects of a cluster go on', async () => {
    const noon = { name: 'noon', timezone: 'Asia/Tokyo', cron: '0 12 * * *', durationMinutes: 60, replicas: 2 };
    addPool('lobby', { replicas: 1, provider: 'eks', config: { nodegroup: 'lobby' }, schedules: [noon] });
    addPool('wrong', { replicas: 1, provider: 'eks', config: {} });
    const all = await berth('timetable', '--days', '2');
    expect(all.status).toBe(3);
    expect(all.out).toMatch(/^cluster us-east-1\/game, no tick yet\ngames: always 1\n\nlobby: [12]/);
    expect(all.out).toMatch(/ \d{4}-\d\d-\d\d 12:00 \+09:00 Asia\/Tokyo +1 -> 2 +schedule noon opens\n/);
    expect(all.out).toMatch(/\nwrong: InvalidConfig\nwrong: spec\.config\.nodegroup: .+\n$/);
    expect(await berth('timetable', 'games')).toMatchObject({ status: 0, out: expect.not.stringContaining('lobby') });
    const json = JSON.parse((await berth('timetable', 'lobby', '--days', '2', '--json')).out);
    expect(json.clusters).toMatchObject([{ cluster: CLUSTER, pools: [{ object: 'lobby', state: 'Accepted' }] }]);
    expect(json.clusters[0].pools[0].course.changes).toHaveLength(4);
    const none = await berth('timetable', 'games', 'none');
    const there = `in ${CLUSTER}; there are games, lobby, wrong\n`;
    expect(none).toMatchObject({ status: 1, err: `berth: there is no GameServerNode none ${there}` });
    const neither = await berth('timetable', 'no', 'none');
    expect(neither).toMatchObject({ status: 1, err: `berth: there is no GameServerNode no, none ${there}` });
    expect(neither.out).toBe(`cluster ${CLUSTER}, no tick yet\nnone of that name\n`);
    for (const name of ['lobby', 'wrong']) outside.scene.remove('gameservernodes', name);
  });
});

describe('berth scaler status', () => {
  it('shows what the last tick left, and what is under way', async () => {
    const now = systemClock();
    const scheduledAt = (now - 30_000) as EpochMs;
    const request = { cluster: CLUSTER, holder: 'h', scheduledAt, now, until: (now + 60_000) as EpochMs };
    const { connection, database } = bed;
    const begun = await scalerStore(connection.dynamo, database.tables).begin(request);
    if (begun.kind !== 'begun') throw new Error(begun.kind);
    const since = (now - 600_000) as EpochMs;
    const pendingDeletions = [{ node: 'n7', uid: 'u7', instance: 'i-7', since }];
    await begun.turn.ledgerOf('games').write({ version: 0, pendingDeletions });
    await begun.turn.ledgerOf('old').write({ version: 0, pendingDeletions: [], registration: { pool: 'prod' } });
    await begun.turn.ledgerOf('done').write({ version: 0, pendingDeletions: [] });
    outside.scene.change('gameservernodes', 'games', (object) => ({
      ...object,
      status: {
        effectiveTarget: 1,
        targetSource: 'schedule',
        nodes: { active: 2, pending: 0, draining: 1, held: 0, notReady: 0 },
        drains: [{ node: 'n2', since: '2026-01-01T00:00:00Z', protectedServers: 2, gamePods: 3 }],
        conditions: [
          { type: 'Valid', status: 'True', reason: 'Accepted', message: 'the group is of Spot machines' },
          { type: 'AtTarget', status: 'False', reason: 'ScalingDown', message: '' },
          { type: 'Degraded', status: 'True', reason: 'DrainBlocked', message: 'node n2 has games' },
        ],
      },
    }));
    const { status, out } = await berth('status', '--cluster', 'game');
    expect(status).toBe(3);
    expect(out).toMatch(/^cluster us-east-1\/game, last tick 3\d s ago\n/);
    expect(out).toMatch(/\ngames +- +1 \(schedule\) +2 +0 +1 +0 +DrainBlocked +-\n/);
    expect(out).toContain('\ngames: warning: the group is of Spot machines\n');
    expect(out).toContain('\ngames: DrainBlocked: node n2 has games\n');
    expect(out).toMatch(/\ngames: draining for \d+ d: n2, 2 games played, 3 game pods\n/);
    expect(out).toContain('\ngames: being removed for 10 min: n7 (i-7)');
    expect(out).toMatch(/\nold +- +- +- +- +- +- +Deleted +-\n/);
    expect(out).toContain('\nold: its nodes leave pool prod as their tasks end');
    expect(out).not.toContain('done');
  });

  it('gives no orders to the terminal that stand in a status, and no lines of their own', async () => {
    const hostile = 'x\u001b[2J\u009b31m\u202e\ngames: all is well';
    outside.scene.change('gameservernodes', 'games', (object) => ({
      ...object,
      status: {
        targetSource: hostile,
        provider: { name: hostile },
        nextTransition: { at: hostile, target: { replicas: 1 } },
        drains: [{ node: hostile }],
        conditions: ['Valid', 'Degraded'].map((type) => ({ type, status: 'True', reason: hostile, message: hostile })),
      },
    }));
    const [{ out }, asJson] = [await berth('status', '--cluster', 'game'), await berth('status', '--json')];
    for (const text of [out, asJson.out]) expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(out).toContain('games: all is well');
    expect(out.split('\n').filter((line) => line.startsWith('games: all is well'))).toEqual([]);
    expect(JSON.parse(asJson.out).clusters[0].pools).toContainEqual(
      expect.objectContaining({ object: 'games', state: hostile }),
    );
  });

  it('shows that a status cannot be read that has a time past all times', async () => {
    outside.scene.change('gameservernodes', 'games', (object) => ({
      ...object,
      status: { nextTransition: { at: 1e20, target: { replicas: 1 } }, conditions: [] },
    }));
    expect((await berth('status')).out).toMatch(/\ngames .+ StatusUnreadable /);
  });

  it('shows an object that no tick has looked at', async () => {
    addPool('lobby', { replicas: 1, provider: 'eks', config: { nodegroup: 'lobby' } });
    expect((await berth('status')).out).toMatch(/\nlobby +- +- +- +- +- +- +NotSeenYet +-\n/);
  });
});

it('asks AWS for nothing that docs/policies/scaler-operator.json does not grant', async () => {
  const file = new URL('../../docs/policies/scaler-operator.json', import.meta.url);
  const { Statement } = JSON.parse(readFileSync(file, 'utf8')) as { Statement: { Action: string[] }[] };
  const granted = Statement.flatMap(({ Action }) => Action);
  const before = outside.requests.length;
  expect((await berth('check')).out).toContain('would');
  const asked = outside.requests.slice(before).flatMap(({ service, operation }) => {
    return service === 'kubernetes' ? [] : [`${service === 'eks' ? 'eks' : 'autoscaling'}:${operation}`];
  });
  expect(new Set(asked).size).toBeGreaterThan(2);
  for (const action of asked) expect(granted).toContain(action);
  expect(granted.filter((action) => !/:(Describe|Get|BatchGet|Query)/.test(action))).toEqual([]);
});

describe('clusters', () => {
  it('that do not know the kind, or cannot be seen, are told beside the others', async () => {
    const clusters = JSON.stringify(['game', 'bare', 'none'].map((name) => ({ name, region: 'us-east-1' })));
    const { status, out } = await berthCommand({ ...environment(), [CLUSTERS_ENV]: clusters }, ['scaler', 'status']);
    expect(status).toBe(1);
    expect(out).toContain('cluster us-east-1/bare, no tick yet\nit does not know the kind GameServerNode');
    expect(out).toMatch(/cluster us-east-1\/none, no tick yet\ncould not be seen: ResourceNotFoundException: /);
    expect(out).toContain('cluster us-east-1/game, ');
  });

  it.each([
    [{ [CLUSTERS_ENV]: '' }, [], 'is not set or names no cluster'],
    [{ [CLUSTERS_ENV]: '[{"name":"game"}]' }, [], '[0].region'],
    [{}, ['--cluster', 'other'], '--cluster other: expected one of us-east-1/game'],
    [{ [CLUSTERS_ENV]: '' }, ['--cluster', 'a/b/c'], '--cluster a/b/c: expected REGION/NAME'],
  ])('that cannot be found are told: %o %o', async (env, words, told) => {
    const { status, err } = await berthCommand({ ...environment(), ...env }, ['scaler', 'status', ...words]);
    expect(status).toBe(2);
    expect(err).toContain(told);
  });

  it('can be named where the deployment is not known', async () => {
    const env = { ...environment(), [CLUSTERS_ENV]: '' };
    const { out } = await berthCommand(env, ['scaler', 'status', '--cluster', CLUSTER]);
    expect(out).toContain(`cluster ${CLUSTER}, `);
  });
});
