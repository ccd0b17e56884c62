import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { CreateQueueCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { berthCommand } from '../../test/support/command.ts';
import type { PoolName } from '../ids.ts';
import { accountItem, accountKey } from '../store/account-item.ts';
import { marshall } from '../store/dynamo.ts';

let bed: BerthBed;
let directory: string;

beforeAll(async () => {
  bed = await startBerthBed();
  directory = mkdtempSync(join(tmpdir(), 'berth-cli-'));
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await bed.stop();
});

const berth = (...words: string[]) => berthCommand(bed.env, words);
const parsed = async (...words: string[]) => JSON.parse((await berth(...words, '--json')).out);

function file(name: string, content: unknown): string {
  const path = join(directory, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** Applies plans while `command` waits for them. */
async function applied<T>(command: Promise<T>): Promise<T> {
  let over = false;
  const end = command.finally(() => {
    over = true;
  });
  while (!over) {
    await bed.applyWaiting();
    await sleep(10);
  }
  return end;
}

const plan = (planId: string, nodeId = 'n1', cpu = 100) => ({
  ...{ planId, pool: 'prod' },
  placements: [{ taskId: `${planId}-t`, serviceId: 'web', slot: 1, nodeId, resources: { cpu } }],
});

describe('berth pool', () => {
  it('makes a pool where that is asked for, and changes one', async () => {
    expect(await berth('pool', 'list')).toMatchObject({ status: 0, out: expect.stringContaining('there is no pool') });
    expect(await berth('pool', 'set', 'prod', '--threshold', '2')).toEqual({
      ...{ status: 1, out: '' },
      err: 'berth: there is no pool prod; to make it, add --create\n',
    });
    expect(await berth('pool', 'set', 'prod', '--create', '--threshold', '0')).toMatchObject({
      ...{ status: 2, err: expect.stringContaining('--threshold: expected') },
    });
    expect(await parsed('pool', 'list')).toEqual([]);
    const settings = ['--threshold', '2', '--window', 'default'];
    const made = await berth('pool', 'set', 'prod', '--create', '--shards', '2', ...settings);
    expect(made).toMatchObject({ status: 0, err: '' });
    expect(made.out).toMatch(/^made\npool +prod\nindex +1\nshards +2\nmade ineligible +2 refusals in 300 s\n/);
    const words = ['--window', '60', '--stop-release', 'terminal', '--marks-per-hour', '7', '--ineligible-for', '90'];
    expect((await berth('pool', 'set', 'prod', ...words)).out).toMatch(/^changed\n/);
    expect(await parsed('pool', 'list')).toMatchObject([
      {
        pool: 'prod',
        settings: {
          ...{ stopRelease: 'terminal', ineligibleForSeconds: 90 },
          tracker: { threshold: 2, windowSeconds: 60, markRatePerSecond: 7 / 3600, enabled: true },
        },
      },
    ]);
    await berth(
      'pool',
      'set',
      'prod',
      '--window',
      'default',
      '--stop-release',
      'default',
      '--ineligible-for',
      'default',
    );
    expect((await parsed('pool', 'show', 'prod')).settings).toMatchObject({
      ...{ stopRelease: 'plan', tracker: { threshold: 2, windowSeconds: 300 } },
    });
    expect((await parsed('pool', 'show', 'prod')).settings).not.toHaveProperty('ineligibleForSeconds');
  });

  it.each([
    [['--threshold', '0'], /^berth: --threshold: expected a whole number from 1 to 10000, got 0\n$/],
    [['--marks-per-hour', '0'], /^berth: --marks-per-hour: expected a number above 0, at most 3600000\n$/],
    [['--threshold', 'many'], /option '--threshold <n>' argument 'many' is invalid. A whole number is expected/],
    [['--tracker', 'maybe'], /argument 'maybe' is invalid. One of on, off is expected/],
    [['--shards', '4'], /--shards is for good/],
    [[], /nothing is to be changed of pool prod/],
    [['--frob'], /unknown option '--frob'/],
  ])('refuses nonsense: %j', async (words, message) => {
    const ran = await berth('pool', 'set', 'prod', ...words);
    expect(ran).toMatchObject({ status: 2, out: '' });
    expect(ran.err).toMatch(message);
  });
});

describe('berth node', () => {
  it('registers nodes of a file, and shows them', async () => {
    const nodes = [1, 2].map((n) => ({
      pool: 'prod',
      nodeId: `n${n}`,
      capacity: { cpu: 1000 },
      labels: { rack: 'r1' },
    }));
    const lines = nodes.map((node) => JSON.stringify(node)).join('\n');
    expect(await berth('node', 'register', '-f', file('nodes.jsonl', lines))).toMatchObject({
      ...{ status: 0, out: 'registered 2 nodes\n' },
    });
    const { out } = await berth('node', 'list', 'prod');
    expect(out).toBe(
      [
        'NODE  STATUS  ELIGIBILITY  DRAIN  TASKS  CPU FREE      MEMORY FREE',
        'n1    ready   eligible     -          0  1000 of 1000  0 of 0',
        'n2    ready   eligible     -          0  1000 of 1000  0 of 0\n',
      ].join('\n'),
    );
    expect((await berth('pool', 'show', 'prod')).out).toMatch(/nodes +2\n +schedulable +2\n/);
    const bad = await berth('node', 'register', '-f', file('bad.json', [{ ...nodes[0], capacity: { cpu: -1 } }]));
    expect(bad).toMatchObject({ status: 2 });
    expect(bad.err).toMatch(/bad.json\[0\]: the node is invalid: capacity.cpu: expected a whole number from 0/);
    const twice = await berth('node', 'register', '-f', file('twice.jsonl', `${lines}\n${JSON.stringify(nodes[0])}`));
    expect(twice).toMatchObject({ status: 2 });
    expect(twice.err).toMatch(/twice.jsonl:3: node n1 of pool prod stands at \S+twice.jsonl:1 already/);
  });

  it('changes a node, and says whether that is new', async () => {
    expect((await berth('node', 'drain', 'prod', 'n2', 'on')).out).toBe('node n2: drain on\n');
    expect((await berth('node', 'drain', 'prod', 'n2', 'on')).out).toBe('node n2: drain on, as it was\n');
    expect(await berth('node', 'eligibility', 'prod', 'n2', 'eligible')).toMatchObject({
      ...{ status: 1, err: 'berth: node n2 is draining and cannot be made eligible; end its drain first\n' },
    });
    expect(await parsed('node', 'status', 'prod', 'n2', 'down')).toEqual({
      ...{ pool: 'prod', node: 'n2', status: 'down', changed: true },
    });
    for (const [words, message] of [
      [['drain', 'prod', 'n2', 'perhaps'], /the drain is perhaps; expected on or off/],
      [['status', 'prod', 'n2', 'gone'], /the status is invalid: expected one of initializing, ready/],
      [['eligibility', 'prod', 'n2'], /missing required argument/],
    ] as const) {
      const ran = await berth('node', ...words);
      expect(ran.status).toBe(2);
      expect(ran.err).toMatch(message);
    }
    expect(await berth('node', 'drain', 'prod', 'nobody', 'on')).toMatchObject({ status: 1 });
  });
});

describe('berth plan', () => {
  it('says what would become of a plan, and changes nothing', async () => {
    const checked = await berth('plan', 'check', file('fits.json', plan('x1')));
    expect(checked.status).toBe(0);
    expect(checked.out).toMatch(/^PLAN +STATUS +INDEX +PLACED +STOPPED +PREEMPTED +REFUSED BY\nx1 +applied +\d+ +1/);
    const refused = await berth('plan', 'check', file('big.json', plan('x2', 'n1', 5000)));
    expect(refused.status).toBe(3);
    expect(refused.out).toMatch(/x2 +n1 +cpu +5000 of cpu asked for, 1000 of 1000 free/);
    for (const words of [[], ['--json']]) {
      const none = await berth('plan', 'show', 'x1', ...words);
      expect(none).toMatchObject({ status: 1, out: '' });
      expect(none.err).toMatch(
        /^berth: nothing is stored of plan x1: .*dead-letters list and berth quarantine list\n$/,
      );
    }
  });

  it('submits plans in their order and waits for their results', async () => {
    const lines = [plan('s1'), plan('s2', 'n1', 5000), plan('s3')].map((one) => JSON.stringify(one)).join('\n');
    const ran = await applied(berth('plan', 'submit', file('plans.jsonl', lines)));
    expect(ran).toMatchObject({ status: 3, err: '' });
    expect(ran.out).toMatch(/s1 +applied .*\ns2 +rejected .*\ns3 +applied /);
    const again = await applied(berth('plan', 'submit', file('plans.json', [plan('s1')]), '--json'));
    expect(again.status).toBe(0);
    expect(JSON.parse(again.out)).toMatchObject([{ planId: 's1', status: 'applied' }]);
    expect(await parsed('plan', 'show', 's2')).toMatchObject({
      ...{ kind: 'ended', result: { status: 'rejected', rejectedNodes: [{ nodeId: 'n1', code: 'cpu' }] } },
    });
    expect((await berth('plan', 'show', 's2')).out).toMatch(/look again at index +\d+/);
  });

  it('says which results did not come in time', async () => {
    const path = file('late.json', plan('late'));
    const ran = await berth('plan', 'submit', path, '--timeout', '0');
    expect(ran).toMatchObject({ status: 1, out: 'no results\n' });
    expect(ran.err).toMatch(/^no result within 0 s for late; they may take effect yet/);
    expect(await berth('plan', 'submit', path, '--no-wait')).toMatchObject({ status: 0, out: 'late\n' });
    await bed.applyWaiting();
  });

  it('reads the standard input, and sends nothing if one of the plans is wrong', async () => {
    const input = [plan('w1'), { ...plan('w2'), priority: -1 }].map((one) => JSON.stringify(one)).join('\n');
    const ran = await berthCommand(bed.env, ['plan', 'submit', '-'], input);
    expect(ran).toMatchObject({ status: 2, out: '' });
    expect(ran.err).toBe(
      'berth: standard input:2: the plan is invalid: priority: expected a whole number from 0 to 32767, got -1\n',
    );
    const twice = await berthCommand(bed.env, ['plan', 'submit', '-'], JSON.stringify([plan('w1'), plan('w1')]));
    expect(twice.err).toMatch(/input\[1\]: planId w1 stands at standard input\[0\] already/);
    expect(await bed.applyWaiting()).toBe(0);
  });
});

describe('berth node show, audit and node remove', () => {
  it('show what a node holds, the refusals that count, and its events', async () => {
    const { out, status } = await berth('node', 'show', 'prod', 'n1');
    expect(status).toBe(0);
    expect(out).toMatch(/takes new tasks +yes\n/);
    expect(out).toMatch(/LEFT\nRESOURCE +LEFT\ncpu +700 of 1000\nmax-tasks +no limit\n/);
    expect(out).toMatch(/REFUSALS THAT COUNT\n1 of 2 in 300 s, 10.0 marks left in the pool\n20\d\d-/);
    expect(out).toMatch(/s1-t +web +1 +assigned +running +20\S+ +cpu 100\n/);
    expect((await berth('node', 'show', 'prod', 'n2')).out).toMatch(/EVENTS\nAT +WHAT\n\S+ +drain begun\n/);
    expect(await parsed('node', 'show', 'prod', 'n1')).toMatchObject({
      ...{ schedulable: true, account: { claims: {}, free: { cpu: 700 } }, refusals: { threshold: 2 } },
    });
  });

  it('find nothing wrong, or say what is', async () => {
    expect(await berth('audit', 'prod')).toMatchObject({
      ...{ status: 0, out: 'looked at 2 nodes and 3 unreleased tasks\n\nevery account says what its tasks hold\n' },
    });
    expect(await berth('audit', 'none')).toMatchObject({
      status: 1,
      err: expect.stringMatching('there is no pool none'),
    });
  });

  it('mend an account that drifted, if they are told to', async () => {
    const { account } = await bed.berth.node('prod', 'n2');
    const key = accountKey('prod' as PoolName, 2, account.nodeId);
    const Item = marshall(accountItem(key, { ...account, free: { ...account.free, cpu: 1 } }));
    await bed.database.client.send(new PutItemCommand({ TableName: bed.database.tables.nodes, Item }));
    const found = await berth('audit', 'prod');
    expect(found.status).toBe(3);
    expect(found.out).toMatch(
      /NODE +WHAT +IS +SHOULD BE\nn2 +free.cpu +1 +1000 +not mended\n\n.*berth audit POOL --mend/,
    );
    expect(await berth('audit', 'prod', '--mend')).toMatchObject({
      status: 0,
      out: expect.stringMatching(/1000 +mended/),
    });
    expect((await parsed('audit', 'prod')).drifts).toEqual([]);
  });

  it('refuse to remove what is held, unless forced', async () => {
    expect(await berth('node', 'remove', 'prod', 'n1')).toMatchObject({
      ...{ status: 1, err: expect.stringMatching(/n1 is held by 3 tasks \(late-t, s1-t, s3-t\); stop them/) },
    });
    expect((await berth('node', 'remove', 'prod', 'n1', '--force')).out).toBe('removed node n1; 3 tasks orphaned\n');
    expect(await parsed('node', 'remove', 'prod', 'n2')).toEqual({ pool: 'prod', node: 'n2', orphaned: 0 });
    expect((await berth('node', 'list', 'prod')).out).toMatch(/^pool prod has no nodes; register some with/);
  });
});

describe('berth node remove of a node that the node scaler registers', () => {
  it('is refused with what to do instead, unless forced', async () => {
    const labels = { 'berth/registered-by': 'us-east-1/game/metal' };
    await bed.berth.registerNode({ pool: 'prod', nodeId: 'metal-1', capacity: { cpu: 1 }, labels });
    const refused = await berth('node', 'remove', 'prod', 'metal-1');
    expect(refused).toMatchObject({ status: 1, out: '' });
    expect(refused.err).toMatch(/registered by the node scaler \(berth\/registered-by: us-east-1\/game\/metal\)/);
    expect(refused.err).toContain('kubectl cordon metal-1, or berth node eligibility prod metal-1 ineligible');
    expect((await berth('node', 'list', 'prod')).out).toContain('metal-1');
    expect(await berth('node', 'remove', 'prod', 'metal-1', '--force')).toMatchObject({ status: 0 });
    expect(await berth('node', 'remove', 'prod', 'metal-1')).toMatchObject({ status: 1 });
  });
});

describe('berth', () => {
  it('names what the environment lacks', async () => {
    const { BERTH_TABLE_NODES: _one, ...rest } = bed.env;
    expect(await berthCommand(rest, ['pool', 'list'])).toEqual({
      ...{ status: 2, out: '' },
      err: 'berth: BERTH_TABLE_NODES is not set: set the variables that the local engine prints (npm start), or name a deployment with --prefix, as in --prefix Berth\n',
    });
  });

  it('finds a deployment by its prefix', async () => {
    const env = Object.fromEntries(Object.entries(bed.env).filter(([name]) => !name.startsWith('BERTH_')));
    expect(await berthCommand(env, ['pool', 'list', '--prefix', 'No_'])).toMatchObject({ status: 2 });
    const unknown = await berthCommand(env, ['pool', 'list', '--prefix', 'Staging']);
    expect(unknown).toMatchObject({ status: 2 });
    expect(unknown.err).toMatch(/--prefix Staging: there is no queue of that name in this region and account/);
    const fifo = { FifoQueue: 'true' };
    await bed.sqs.send(new CreateQueueCommand({ QueueName: 'Staging-plans.fifo', Attributes: fifo }));
    // The queue is found now, and the tables of that prefix are looked for.
    const found = await berthCommand(env, ['pool', 'list', '--prefix', 'Staging']);
    expect(found).toMatchObject({ status: 1 });
    expect(found.err).toMatch(/ResourceNotFound.*\ncheck --prefix or the variables BERTH_/);
  });

  it('shows no stack trace where AWS cannot be reached', async () => {
    const away = { ...bed.env, AWS_ENDPOINT_URL_DYNAMODB: 'nowhere' };
    const { status, err, out } = await berthCommand(away, ['pool', 'list']);
    expect([status, out]).toEqual([1, '']);
    expect(err).not.toMatch(/\n +at /);
  });

  it('says what there is', async () => {
    const help = await berth('--help');
    expect(help.status).toBe(0);
    expect(help.out.match(/^ {2}[a-z][\w-]+/gm)?.map((name) => name.trim())).toEqual([
      ...['pool', 'node', 'plan', 'service', 'task', 'scaler', 'quarantine', 'dead-letters', 'audit', 'sweep', 'help'],
    ]);
    expect(help.out).toMatch(/Exit status:\n {2}0 {2}done/);
    expect(await berth('frob')).toMatchObject({ status: 2, err: expect.stringMatching(/unknown command 'frob'/) });
  });
});
