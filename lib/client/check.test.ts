import { TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { berthOver } from './berth.ts';
import type { Berth, PlanInput, PlanResult } from './index.ts';

let bed: BerthBed;
/** A client that could not write if it wanted to. */
let reader: Berth;
let pools = 0;
let pool: string;

beforeAll(async () => {
  bed = await startBerthBed();
  const { dynamo } = bed.connection;
  const send = async (command: object) => {
    if (!/^(BatchGet|Get)ItemCommand$/.test(command.constructor.name)) {
      throw new TypeError(`${command.constructor.name} is no read`);
    }
    return (dynamo.send as (command: object) => Promise<unknown>)(command);
  };
  const proxy = new Proxy(dynamo, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
  reader = berthOver({ ...bed.connection, dynamo: proxy });
  await expect(proxy.send(new TransactWriteItemsCommand({ TransactItems: [] }))).rejects.toThrow('is no read');
});
afterAll(() => bed.stop());

beforeEach(async () => {
  pool = `p${pools++}`;
  await bed.berth.registerPool({ pool, shards: 2, settings: { tracker: { threshold: 2 } } });
  await bed.berth.registerNodes(
    ['n1', 'n2', 'n3'].map((nodeId) => ({ pool, nodeId, capacity: { cpu: 1000, memory: 1000 } })),
  );
});

type Placements = NonNullable<PlanInput['placements']>;
const placement = (taskId: string, nodeId: string, cpu = 100, slot = 1): Placements[number] => ({
  ...{ taskId: `${pool}-${taskId}`, serviceId: pool, slot, nodeId },
  resources: { cpu },
});
const plan = (planId: string, rest: Partial<PlanInput>): PlanInput => ({ planId: `${pool}-${planId}`, pool, ...rest });

async function applied(input: PlanInput): Promise<PlanResult> {
  await bed.berth.push(input);
  await bed.applyWaiting();
  const result = await bed.berth.result(input.planId);
  if (!result) throw new Error('it has no result');
  return result;
}

/** What a check and the result of the same plan have in common: all but indexes and times. */
function substance({ index: _i, refreshIndex, receivedAt: _r, appliedAt: _a, ...rest }: PlanResult) {
  return { ...rest, refresh: refreshIndex > 0 };
}

async function expectSame(input: PlanInput): Promise<PlanResult> {
  const { result, stored } = await reader.check(input);
  expect(stored).toBe(false);
  expect(await bed.berth.result(input.planId)).toBeUndefined();
  expect(substance(result)).toEqual(substance(await applied(input)));
  return result;
}

describe('the check of a plan', () => {
  it.each<[string, () => Partial<PlanInput>, PlanResult['status']]>([
    ['fits', () => ({ placements: [placement('a', 'n1'), placement('b', 'n2')] }), 'applied'],
    ['fits in part', () => ({ placements: [placement('a', 'n1'), placement('b', 'n2', 5000)] }), 'partial'],
    ['fits nowhere', () => ({ placements: [placement('a', 'none'), placement('b', 'n2', 5000)] }), 'rejected'],
    [
      'is all or nothing',
      () => ({ allAtOnce: true, placements: [placement('a', 'n1'), placement('b', 'n2', 5000)] }),
      'rejected',
    ],
    ['is empty', () => ({}), 'applied'],
    ['came too late', () => ({ notAfter: '2020-01-01T00:00:00Z' }), 'expired'],
    ['stops what is gone', () => ({ stops: [{ taskId: 'x', serviceId: 's', nodeId: 'n1' }] }), 'applied'],
  ])('that %s says what the applier then decides', async (name, rest, status) => {
    expect((await expectSame(plan(name.replaceAll(' ', '-'), rest()))).status).toBe(status);
  });

  it('goes by what is there: tasks that are updated, stopped, in the way', async () => {
    await applied(plan('before', { placements: [placement('a', 'n1', 900), placement('b', 'n2', 900)] }));
    const b = { taskId: `${pool}-b`, serviceId: pool, slot: 1, nodeId: 'n2' };
    const input = plan('after', {
      placements: [placement('a', 'n1', 950), placement('c', 'n2', 800), placement('b', 'n3')],
      stops: [b],
    });
    await expect(reader.check(input)).rejects.toThrow(/stands in the plan already/);
    const fine = { ...input, placements: input.placements?.slice(0, 2) ?? [] };
    expect((await expectSame(fine)).committed).toEqual({ placements: 2, stops: 1, preemptions: 0 });
    expect((await expectSame(plan('again', { placements: [placement('b', 'n3')] }))).rejectedNodes).toMatchObject([
      { code: 'task-conflict' },
    ]);
  });

  it('counts no refusal, but says which node this one would make ineligible', async () => {
    const refused = (planId: string) => plan(planId, { placements: [placement(planId, 'n1', 5000)] });
    await applied(refused('first'));
    for (let checks = 0; checks < 3; checks++) {
      expect((await reader.check(refused('second'))).result.ineligibleNodes).toEqual(['n1']);
    }
    expect((await bed.berth.node(pool, 'n1')).refusals.times).toHaveLength(1);
    expect((await applied(refused('second'))).ineligibleNodes).toEqual(['n1']);
  });

  it.each([false, true])('of a plan of several transactions is that of all its steps, all at once: %s', async (all) => {
    const placements = Array.from({ length: 150 }, (_, at) => placement(`t${at}`, `n${1 + (at % 3)}`, 6, at));
    const big = plan('big', { allAtOnce: all, placements });
    expect((await expectSame(big)).status).toBe('applied');
    // 50 tasks of 6 have left 700 on each: this fits on two nodes, and on the third not any more.
    const more = placements.map((task, at) => ({ ...task, taskId: `${task.taskId}-more`, slot: 1000 + at }));
    const tight = [...more, placement('last', 'n3', 401, 9999)];
    const result = await expectSame(plan('tight', { allAtOnce: all, placements: tight }));
    expect(result.status).toBe(all ? 'rejected' : 'partial');
    expect(result.rejectedNodes).toMatchObject([{ nodeId: 'n3', code: 'cpu' }]);
  });

  it('of a plan that was decided before is its stored result, and says if that was of another content', async () => {
    const first = plan('x', { placements: [placement('a', 'n1')] });
    const result = await applied(first);
    expect(await reader.check(first)).toEqual({ result, stored: true, differs: false });
    const other = { ...first, placements: [placement('a', 'n2')] };
    expect(await reader.check(other)).toEqual({ result, stored: true, differs: true });
  });

  it('of a plan for a pool that does not exist says so, and of what is no plan what is wrong', async () => {
    const { result } = await reader.check({ planId: 'x', pool: 'none' });
    expect(result).toMatchObject({ status: 'invalid', problems: [{ path: 'pool' }] });
    await expect(reader.check({ planId: 'x', pool, priority: -1 })).rejects.toThrow('priority: expected');
  });
});
