import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { berthCommand } from '../../test/support/command.ts';

const kind = { apiVersion: 'stable.agones.dev/v1alpha1', kind: 'GameServerNode' };
const object = (name: string, spec: object) => ({ ...kind, metadata: { name }, spec });
const always = { timezone: 'UTC', cron: '0 12 * * *', durationMinutes: 60, replicas: 4 };
const daily = { name: 'noon', ...always };
/** Any command of these finds neither a deployment nor a cluster, and no credentials. */
const berth = (words: string[], ...objects: object[]) =>
  berthCommand({}, ['scaler', ...words], objects.map((one) => JSON.stringify(one)).join('\n---\n'));

beforeEach(() => {
  vi.spyOn(Socket.prototype, 'connect');
});
afterEach(() => {
  expect(Socket.prototype.connect).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});

describe('berth scaler check -f without a cluster', () => {
  it('says that all is well, and how targets go on', async () => {
    const pools = [
      object('b', { replicas: 2 }),
      object('a', { replicas: 1, config: { nodegroup: 'a' }, schedules: [daily] }),
    ];
    const { status, out, err } = await berth(['check', '-f', '-'], ...pools);
    expect(err).toBe('');
    expect(status).toBe(0);
    expect(out).toMatch(/^standard input, 2 GameServerNodes\nOBJECT +WHERE +STATE\na +standard input:3 +Accepted\nb /);
    expect(out).toMatch(/\n\na: [14]( \(schedule\))?, 14 changes in 7 days\n/);
    expect(out).toContain('\n\nb: always 2\n');
    expect(out).toMatch(/\n\nnot checked: the group, the nodes, [^\n]+; name --cluster to see\n$/);
  });

  it('says what the function says of an object that is wrong, and passes over other kinds', async () => {
    const wrong = object('wrong', { replicas: 1.5, provider: 'eks', schedules: [{ ...daily, cron: '0 0 8 * * *' }] });
    const hook = object('hook', { replicas: 1, provider: 'custom' });
    const web = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } };
    const { status, out, err } = await berth(['check', '-f', '-'], wrong, hook, web);
    expect(status).toBe(3);
    expect(err).toBe('');
    expect(out).toMatch(/\nwrong +standard input:1 +InvalidSpec\n/);
    expect(out).toContain('\nwrong: spec.replicas: expected a whole number from 0 to 10000, got 1.5\n');
    expect(out).toContain('\nhook: spec.grpcHook: expected an object with address or service: provider is custom\n');
    expect(out).toContain('\npassed over: Service web (standard input:5)');
  });

  it('says that two objects of the file select one pool', async () => {
    const same = { replicas: 1, provider: 'eks', config: { nodegroup: 'games' } };
    const { status, out } = await berth(['check', '-f', '-', '--offline'], object('a', same), object('b', same));
    expect(status).toBe(3);
    expect(out).toMatch(/\na +standard input:1 +Accepted\nb +standard input:3 +ConflictingGameServerNode\n/);
    expect(out).toMatch(/\nb: spec\.config: the older object a selects the same pool/);
  });

  it('says it as JSON', async () => {
    const { out } = await berth(['check', '-f', '-', '--json'], object('a', { replicas: 2, schedules: [daily] }));
    const { file } = JSON.parse(out);
    expect(file).toMatchObject({ file: 'standard input', passedOver: [], pools: [{ object: 'a', well: true }] });
    const [{ course }] = file.pools;
    expect(course).toMatchObject({ capped: false, start: expect.anything() });
    expect(course.changes).toHaveLength(14);
    expect(course.changes.find(({ to }: { to: { replicas: number } }) => to.replicas === 4)).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT12:00:00\.000Z$/),
      from: { replicas: 2, source: 'base' },
      to: { replicas: 4, source: 'schedule' },
      windows: [{ window: 'schedule', name: 'noon', event: 'opens', timezone: 'UTC' }],
    });
  });

  it.each([
    [['check', '--offline'], 'name it with --file'],
    [['check', '-f', '-', '--offline', '--cluster', 'game'], "'--offline' cannot be used with option '--cluster"],
    [['timetable', '-f', '-', '--cluster', 'game'], "'-f, --file <file>' cannot be used with option '--cluster"],
    [['timetable', '-f', '-', '--days', '0'], 'A whole number from 1 to 366 is expected'],
    [['timetable', '-f', '-', 'none'], 'standard input has no GameServerNode none; there is a\n'],
    [['check', '-f', '-', '--cluster', 'eu-central-1/game'], 'not set'],
    [['check', '-f', '-', '--kubeconfig', 'k'], 'not set'],
  ])('is told what it cannot use: %j', async (words, told) => {
    const { status, err } = await berth(words, object('a', { replicas: 2 }));
    expect(status).toBe(2);
    expect(err).toContain(told);
  });
});

describe('berth scaler timetable -f', () => {
  it('shows the pools that are named', async () => {
    const pools = ['a', 'b'].map((name) =>
      object(name, { replicas: 2, config: { nodegroup: name }, paused: name === 'b' }),
    );
    expect(await berth(['timetable', '-f', '-'], ...pools)).toEqual({
      ...{ status: 0, err: '', out: 'a: always 2\n\nb: always 2, and paused: nothing is done\n' },
    });
    expect((await berth(['timetable', 'a', '-f', '-'], ...pools)).out).toBe('a: always 2\n');
  });

  it('shows what is wrong with an object instead', async () => {
    const { status, out, err } = await berth(['timetable', '-f', '-'], object('a', { replicas: -1 }));
    expect(status).toBe(3);
    expect(err).toBe('');
    expect(out).toMatch(/^a: InvalidSpec\na: spec\.replicas: expected a whole number .*got -1\n$/);
  });

  it('ends where schedules begin too often, and says so', async () => {
    const every = (_: unknown, n: number) => ({ ...daily, name: `s${n}`, cron: `${n % 60}-59 * * * *` });
    const busy = (name: string) =>
      object(name, { replicas: 2, config: { nodegroup: name }, schedules: Array.from({ length: 50 }, every) });
    const { out } = await berth(['timetable', '-f', '-'], busy('a'));
    expect(out).toMatch(/^a: .*until .*; capped there, since its schedules begin so often/);
  });
});
