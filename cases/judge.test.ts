import { describe, expect, it } from 'vitest';
import type { NodeId, PlanId, TaskId } from '../lib/ids.ts';
import type { Account } from '../lib/nodes/account.ts';
import { coreKey, portKey, volumeKey } from '../lib/nodes/claims.ts';
import type { TaskKey } from '../lib/plans/decide-part.ts';
import type { PlanResult } from '../lib/plans/result.ts';
import type { Task } from '../lib/tasks/task.ts';
import { CONTENT, type Content, NOW, place, problemsOf } from '../test/support/judged-case.ts';
import { judged } from './judge.ts';
import type { Outcome, Way } from './outcome.ts';
import { PURE_WAY } from './pure-way.ts';

/** The case with other expectations of its one plan. */
const expecting = (other: Content): Content => ({
  ...CONTENT,
  expect: { perPlan: [{ ...CONTENT.expect.perPlan[0], ...other }] },
});

/** The pure way, with something wrong about what it comes to. */
function spoiled(spoil: (outcome: Outcome) => Outcome): Way {
  return { ...PURE_WAY, name: 'spoiled', run: async (planCase, now) => spoil(await PURE_WAY.run(planCase, now)) };
}

const withResult = (other: Partial<PlanResult>) =>
  spoiled((outcome) => ({
    ...outcome,
    delivered: outcome.delivered.map((one) =>
      one.kind === 'result' ? { ...one, result: { ...one.result, ...other } } : one,
    ),
  }));

const withAccount = (other: (account: Account) => Partial<Account>) =>
  spoiled((outcome) => {
    const [[pool, accounts] = []] = [...outcome.after.accounts];
    const account = accounts?.get('n1' as NodeId);
    if (!pool || !accounts || !account) throw new Error('n1 is gone');
    const changed = new Map(accounts).set(account.nodeId, { ...account, ...other(account) });
    return { ...outcome, after: { ...outcome.after, accounts: new Map([[pool, changed]]) } };
  });

const withTask = (taskId: string, other: (task: Task) => Partial<Task> | undefined) =>
  spoiled((outcome) => {
    const tasks = new Map<TaskKey, Task>();
    for (const [key, task] of outcome.after.tasks) {
      const change = task.taskId === taskId ? other(task) : {};
      if (change) tasks.set(key, { ...task, ...change });
    }
    return { ...outcome, after: { ...outcome.after, tasks } };
  });

describe('a case of kind plan', () => {
  it('holds when everything came as expected and adds up', async () => {
    expect(await problemsOf(CONTENT)).toEqual([]);
  });

  it('needs no more than plans and the status of each', async () => {
    expect(await problemsOf({ plans: [{}], expect: { perPlan: [{ status: 'invalid' }] } })).toEqual([]);
  });

  it.each([
    [
      { status: 'applied' },
      /^plan p1: expected status applied, came partial \(n2: 2 of cpu asked for, 0 of|1 of 1 free\)/,
    ],
    [{ rejectedNodes: [] }, 'plan p1: expected rejectedNodes [], came [n2: cpu]'],
    [{ rejectedNodes: [{ nodeId: 'n2', code: 'disk' }] }, 'plan p1: expected rejectedNodes [n2: disk], came [n2: cpu]'],
    [
      { committed: { placements: ['new', 'big'], stops: ['old'] } },
      'plan p1: expected committed.placements [big, new], came [new]',
    ],
    [{ committed: { placements: ['new'] } }, 'plan p1: expected committed.stops [], came [old]'],
    [
      { committed: { placements: ['new'], stops: ['old'], preemptions: ['gone'] } },
      'plan p1: expected committed.preemptions [gone], came []',
    ],
    [{ refresh: false }, 'plan p1: expected refresh false, came true'],
    [{ alreadyGone: [] }, 'plan p1: expected alreadyGone [], came [gone]'],
    [{ planId: 'p2' }, /^plan p1: expect\.perPlan is not in the order of the plans: it names "p2" here$/],
  ])('does not hold where it expects %j', async (other, problem) => {
    const problems = await problemsOf(expecting(other));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(typeof problem === 'string' ? new RegExp(`^${escaped(problem)}$`) : problem);
  });

  it.each<[string, Way, string]>([
    [
      'a count that the tasks belie',
      withResult({ committed: { placements: 2, stops: 1, preemptions: 0 } }),
      'committed.placements says 2, the tasks at the end say 1',
    ],
    ['another result', withResult({ alreadyGone: [] }), 'expected alreadyGone [gone], came []'],
    [
      'a stop without effect',
      withTask('old', () => ({ desiredState: 'running' })),
      'committed.stops says 1, the tasks at the end say 0',
    ],
    [
      'a placement without effect',
      withTask('new', () => undefined),
      'committed.placements says 1, the tasks at the end say 0',
    ],
    ['another placement', withTask('new', () => ({ jobIteration: 9 })), 'task new is not as its plan placed it'],
    [
      'a task that no plan names',
      withTask('idle', () => ({ desiredState: 'remove' })),
      'task idle was changed by no plan that was committed',
    ],
    ['a task that is gone', withTask('idle', () => undefined), 'task idle is gone; a plan deletes none'],
    [
      'a resource that does not add up',
      withAccount(({ free }) => ({ free: { ...free, cpu: 4 } })),
      'node n1: cpu: 4 free and 3 used do not make the capacity of 4',
    ],
    [
      'a resource from nowhere',
      withAccount(({ free }) => ({ free: { ...free, tpu: 1 } })),
      'node n1: tpu: 1 free and 0 used do not make the capacity of 0',
    ],
    [
      'a claim without a task',
      withAccount(({ claims }) => ({ claims: new Map(claims).set(portKey('a', 81), 'new') })),
      'node n1: port/a/81 is held by new, which does not claim it',
    ],
    [
      'a claim of another task',
      withAccount(({ claims }) => ({ claims: new Map(claims).set(portKey('a', 80), 'old') })),
      'node n1: port/a/80 is held by old, which does not claim it',
    ],
    [
      'a task without its claim',
      withAccount(({ claims }) => ({ claims: new Map(claims).set(coreKey(0), '!free') })),
      'node n1: core/0 is claimed by idle, held by nobody',
    ],
    [
      'a volume that is shared on',
      withAccount(() => ({ sharers: new Map([[volumeKey('v'), new Set(['old' as TaskId])]]) })),
      'node n1: volume/v is shared by [old], claimed by []',
    ],
    [
      'a port that is held past its holder and not shared',
      withTask('idle', () => ({ ports: [{ ip: 'a', value: 80, label: '', ignoreCollision: true }] })),
      'node n1: port/a/80 is shared by [], claimed by [idle]',
    ],
    [
      'resources given back twice',
      withTask('idle', () => ({ released: true })),
      'node n1: max-tasks: 999999998 free and 1 used do not make the capacity of 1000000000',
    ],
  ])('does not hold with %s', async (_what, way, problem) => {
    expect((await problemsOf(CONTENT, way)).join('\n')).toContain(problem);
  });

  it('does not hold if a port has two holders that it did not have at first', async () => {
    const twice = withTask('idle', () => ({ ports: [{ ip: 'a', value: 80, label: '', ignoreCollision: false }] }));
    expect((await problemsOf(CONTENT, twice)).join('\n')).toContain('node n1: port/a/80 is claimed by idle and by new');
  });

  it('does not hold if the message went nowhere', async () => {
    const lost = spoiled((outcome) => ({ ...outcome, delivered: [{ kind: 'nothing', reason: 'it was lost' }] }));
    expect((await problemsOf(CONTENT, lost))[0]).toBe('plan p1: expected partial, came nothing: it was lost');
  });

  it('does not hold if it could not be run', async () => {
    const broken: Way = { ...PURE_WAY, run: () => Promise.reject(new Error('the disk is full')) };
    expect(await problemsOf(CONTENT, broken)).toEqual(['it could not be run: the disk is full']);
  });

  it('answers a plan id that comes twice with what became of the first', async () => {
    const again = { planId: 'p1', pool: 'test', placements: [{ taskId: 'other', slot: 9, ...place }] };
    const twice = {
      ...CONTENT,
      plans: [...CONTENT.plans, again],
      expect: { perPlan: [CONTENT.expect.perPlan[0], CONTENT.expect.perPlan[0]] },
    };
    expect(await problemsOf(twice)).toEqual([]);
  });

  it('is run under names of its own, and told under those of the file', async () => {
    const seen: string[] = [];
    const watched = spoiled((outcome) => {
      seen.push(...outcome.after.pools.keys(), ...[...outcome.after.tasks.values()].map(({ slotKey }) => slotKey));
      seen.push(...outcome.delivered.flatMap((one) => (one.kind === 'result' ? [one.result.planId as PlanId] : [])));
      return outcome;
    });
    expect(await problemsOf(expecting({ refresh: false }), watched)).toEqual([
      'plan p1: expected refresh false, came true',
    ]);
    expect(seen).toEqual(['case-3.test', 'case-3.svc#1', 'case-3.svc#5', 'case-3.svc#2', 'case-3.p1']);
  });

  it.each<[string, Content, RegExp]>([
    ['an expectation that nobody looks at', expecting({ cost: 1 }), /expect\.perPlan\[0\]: .*cost/],
    [
      'fewer expectations than plans',
      { ...CONTENT, expect: { perPlan: [] } },
      /expect\.perPlan: 1 plans, and expectations of 0/,
    ],
    ['a node that is none', { ...CONTENT, nodes: [{ nodeId: 'n 1', capacity: {} }] }, /nodes\[0\]\.nodeId: /],
    ['a task in no state', { ...CONTENT, tasks: [{ ...CONTENT.tasks[0], state: 'lost' }] }, /tasks\[0\]\.state: /],
    ['no plans', { expect: { perPlan: [] } }, /plans: /],
    ['a status that is none', expecting({ status: 'fine' }), /expect\.perPlan\[0\]\.status: /],
  ])('that has %s is refused', async (_what, content, problem) => {
    const problems = await problemsOf(content);
    expect(problems.length).toBeGreaterThan(0);
    for (const one of problems) expect(one).toMatch(/^not a case of kind plan: /);
    expect(problems.join('\n')).toMatch(problem);
  });

  it('passes over what it says of nodes and tasks for people', async () => {
    const [node, ...nodes] = CONTENT.nodes;
    expect(await problemsOf({ ...CONTENT, tags: ['x'], nodes: [{ ...node, comment: 'old' }, ...nodes] })).toEqual([]);
  });
});

describe('a case of a kind that is not covered', () => {
  it.each([
    [undefined, 'not covered yet: cases that name no kind, and are none of the reaper or of the node scaler'],
    ['dance', 'not covered yet: cases of kind dance'],
  ])('fails each way: %s', async (kind, problem) => {
    const verdicts = [];
    for await (const one of judged({ id: 'W', kind, content: {} }, 0, [PURE_WAY, PURE_WAY], NOW)) verdicts.push(one);
    expect(verdicts).toEqual([
      { id: 'W', way: 'pure', problems: [problem] },
      { id: 'W', way: 'pure', problems: [problem] },
    ]);
  });
});

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
