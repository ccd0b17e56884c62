import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { taskOf } from '../../test/support/builders.ts';
import { delivered } from '../../test/support/folding.ts';
import { nodeSpecs, roomySpecs, steps } from '../../test/support/node-arbitraries.ts';
import { poolOf } from '../../test/support/plans.ts';
import { runPlan, type Stage, stageOf } from '../../test/support/stages.ts';
import type { NodeId, TaskId } from '../ids.ts';
import { accountOf, exchanged } from '../nodes/account.ts';
import { driftOf } from '../nodes/audit.ts';
import { misfitOf } from '../nodes/fit.ts';
import { holdingOf } from '../tasks/holding.ts';
import { isTerminal } from '../tasks/states.ts';
import type { Task } from '../tasks/task.ts';
import { type TaskKey, taskKeyOf } from './decide-part.ts';
import { countWrites } from './ledger.ts';
import type { Placement, PlanInput } from './plan.ts';

/** Plans of several transactions, held against the same plans in one. */

interface World {
  readonly plan: Omit<PlanInput, 'planId' | 'pool'>;
  readonly stage: () => Stage;
}

type Wants = Parameters<typeof taskOf>[1];

/** Most tasks claim nothing: else hardly a plan would be accepted as a whole. */
const light = (task: Placement, nth: number): Placement =>
  nth % 4 === 0 ? task : { ...task, ports: [], cores: [], devices: [], volumes: [] };
const specs = fc.oneof({ weight: 5, arbitrary: roomySpecs }, nodeSpecs);

/** Three nodes with tasks on them, and a plan that updates, stops, preempts and places tasks there. */
const worlds: fc.Arbitrary<World> = fc
  .record({
    described: fc.tuple(specs, specs, specs),
    there: steps(6),
    news: steps(6),
    fates: fc.array(fc.constantFrom('keep', 'update', 'update', 'stop', 'preempt'), { minLength: 20, maxLength: 20 }),
    at: fc.array(fc.nat(2), { minLength: 40, maxLength: 40 }),
    allAtOnce: fc.boolean(),
    stopRelease: fc.constantFrom('plan' as const, 'plan' as const, 'terminal' as const),
  })
  .map(({ described, there, news, fates, at, allAtOnce, stopRelease }) => {
    const nodes = described.map((spec, nth) => ({ ...spec, nodeId: `n${nth}` as NodeId }));
    const accounts = new Map(nodes.map((spec) => [spec.nodeId, accountOf(spec)]));
    const tasks = new Map<TaskKey, Task>();
    const wants = there.flatMap(({ takes }) => takes).map(light);
    for (const [nth, { resources, ports, cores, devices, volumes }] of wants.entries()) {
      const nodeId = `n${at[nth]}` as NodeId;
      const task = taskOf(`h${nth}`, { resources, ports, cores, devices, volumes, nodeId, slot: nth } as Wants);
      const account = accounts.get(nodeId);
      const exchange = { gives: [], takes: [holdingOf(task)] };
      if (!account || misfitOf(account, exchange)) continue;
      accounts.set(nodeId, exchanged(account, exchange));
      tasks.set(taskKeyOf(task), task);
    }
    const fresh = news.flatMap(({ takes }) => takes).map(light);
    const placements: NonNullable<PlanInput['placements']> = [];
    const [stops, preemptions]: [NonNullable<PlanInput['stops']>, NonNullable<PlanInput['preemptions']>] = [[], []];
    for (const [nth, placement] of fresh.entries())
      placements.push({ ...placement, slot: 100 + nth, nodeId: `n${at[20 + nth]}` });
    for (const [nth, { taskId, serviceId, slot, nodeId }] of [...tasks.values()].entries()) {
      const place = { taskId, serviceId, nodeId, ...(slot === undefined ? {} : { slot }) };
      const update = fresh[nth];
      if (fates[nth] === 'stop') stops.push(place);
      else if (fates[nth] === 'preempt') preemptions.push({ ...place, preemptedBy: 't1' as TaskId });
      else if (fates[nth] === 'update' && update) placements.push({ ...update, ...place });
    }
    const pool = poolOf('prod', { index: 7, settings: { stopRelease, tracker: { threshold: 1 } } });
    return {
      plan: { allAtOnce, placements, stops, preemptions },
      stage: () => stageOf(pool, { accounts: new Map(accounts), tasks: new Map(tasks) }),
    };
  });

/** After which commit a node loses everything, in what transactions. Mostly while a plan at once is reserved. */
const interference = fc.record({
  node: fc.nat(2),
  when: fc.oneof({ weight: 3, arbitrary: fc.nat(2) }, fc.nat(10)),
  allowance: fc.constantFrom(9, 12),
  allAtOnce: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
});

/** Tasks that hold something of their node. */
const holders = ({ facts }: Stage, node: string) =>
  [...facts.tasks.values()].flatMap((task) =>
    task !== 'missing' && task.nodeId === node && !task.released ? [task] : [],
  );

/** Nodes whose accounts do not say what their tasks hold. */
function drifts(stage: Stage): unknown[] {
  return [...stage.facts.accounts].flatMap(([node, account]) =>
    account === 'missing'
      ? []
      : driftOf(account, holders(stage, node).map(holdingOf)).map((drift) => ({ node, ...drift })),
  );
}

/** What is there, but for what counts writes. */
function plain({ facts }: Stage) {
  return {
    accounts: [...facts.accounts].map(([node, account]) =>
      account === 'missing' ? [node] : [node, { ...account, version: 0, index: 0 }],
    ),
    tasks: [...facts.tasks]
      .flatMap(([key, task]) => (task === 'missing' ? [] : [[key, { ...task, version: 0, stateTimes: 0 }] as const]))
      .sort(),
    windows: [...facts.windows].filter(([, window]) => window !== 'missing').sort(),
  };
}

describe('a plan of several transactions', () => {
  it('comes to the same as in one, and leaves nothing behind of what was not committed', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(worlds, fc.constantFrom(9, 10, 12, 16), ({ plan, stage }, allowance) => {
        const [whole, staged] = [stage(), stage()];
        const delivery = delivered('p1', plan);
        const expected = runPlan(delivery, whole, 10_000);
        expect(whole.commits).toHaveLength(1);
        const result = runPlan(delivery, staged, allowance);
        const count = `${result.status} in ${staged.commits.length > 1 ? 'several' : 'one'}`;
        seen.set(count, (seen.get(count) ?? 0) + 1);
        const apart = { index: 0, refreshIndex: 0 };
        expect({ ...result, ...apart }).toEqual({ ...expected, ...apart });
        expect(result.index).toBe(7 + staged.commits.length);
        expect(result.refreshIndex).toBe(result.rejectedNodes.length > 0 ? result.index : 0);
        expect(plain(staged)).toEqual(plain(whole));
        for (const task of staged.facts.tasks.values()) expect(task).not.toHaveProperty('undo');
      }),
      { numRuns: 150 },
    );
    for (const status of ['applied', 'partial'])
      expect(seen.get(`${status} in several`) ?? 0, status).toBeGreaterThan(0);
  });

  it('keeps to what a transaction holds, and the books in order with every one of them', () => {
    fc.assert(
      fc.property(worlds, fc.constantFrom(9, 12), ({ plan, stage }, allowance) => {
        const staged = stage();
        runPlan(delivered('p1', plan), staged, allowance, (commit) => {
          const plans = commit.results.length + (commit.progress ? 1 : 0);
          const ledger = {
            ...commit,
            nodes: new Map(commit.nodes),
            tasks: new Map(commit.tasks),
            windows: new Map(commit.windows),
            events: new Map(commit.events),
            marks: undefined,
          };
          expect(2 + plans + countWrites(ledger)).toBeLessThanOrEqual(allowance);
          expect(drifts(staged)).toEqual([]);
        });
      }),
      { numRuns: 150 },
    );
  });

  it('is as if what others do in between had come before it, or after it', () => {
    let undone = 0;
    fc.assert(
      fc.property(worlds, interference, ({ plan, stage }, { node, when, allowance, allAtOnce }) => {
        const delivery = delivered('p1', { ...plan, allAtOnce });
        const [before, after, staged] = [stage(), stage(), stage()];
        lowerCapacity(before, node, 100);
        runPlan(delivery, before, 10_000);
        runPlan(delivery, after, 10_000);
        lowerCapacity(after, node, 100);
        let commits = 0;
        runPlan(delivery, staged, allowance, ({ progress }) => {
          if (progress?.phase === 'undoing') undone++;
          if (commits++ === when) lowerCapacity(staged, node, 100);
        });
        if (commits <= when) lowerCapacity(staged, node, 100);
        expect([plain(before), plain(after)]).toContainEqual(plain(staged));
      }),
      { numRuns: 240 },
    );
    expect(undone).toBeGreaterThan(0);
  });

  it('comes to an end, and to books in order, whatever ends and is described anew between its transactions', () => {
    const deeds = fc.array(fc.record({ end: fc.option(fc.nat(20)), lower: fc.option(fc.nat(2)) }), { maxLength: 12 });
    fc.assert(
      fc.property(worlds, deeds, ({ plan, stage }, list) => {
        const staged = stage();
        const left = [...list];
        const result = runPlan(delivered('p1', plan), staged, 9, () => {
          const deed = left.shift();
          if (deed?.end != null) endTask(staged, deed.end);
          if (deed?.lower != null) lowerCapacity(staged, deed.lower, 1);
        });
        expect(drifts(staged)).toEqual([]);
        for (const task of staged.facts.tasks.values()) {
          expect(task).not.toHaveProperty('undo');
          expect(task).not.toMatchObject({ state: 'pending' });
        }
        if (plan.allAtOnce && result.rejectedNodes.length > 0)
          expect(result.committed).toEqual({ placements: 0, stops: 0, preemptions: 0 });
      }),
      { numRuns: 200 },
    );
  });
});

/** An agent reports that the nth task has ended. */
function endTask({ facts }: Stage, nth: number): void {
  const [key, task] = [...facts.tasks][nth] ?? [];
  if (
    key === undefined ||
    task === undefined ||
    task === 'missing' ||
    isTerminal(task.state) ||
    task.state === 'pending'
  )
    return;
  const account = facts.accounts.get(task.nodeId);
  if (account === undefined || account === 'missing') return;
  facts.tasks.set(key, { ...task, state: 'failed', released: true, version: task.version + 1 });
  if (task.released) return;
  facts.accounts.set(task.nodeId, {
    ...exchanged(account, { gives: [holdingOf(task)], takes: [] }),
    version: account.version + 1,
  });
}

/** An operator registers the nth node with less of everything. */
function lowerCapacity({ facts }: Stage, nth: number, by: number): void {
  const account = facts.accounts.get(`n${nth}` as NodeId);
  if (account === undefined || account === 'missing') return;
  const less = (amounts: Readonly<Record<string, number>>) =>
    Object.fromEntries(
      Object.entries(amounts).map(([name, amount]) => [name, name === 'max-tasks' ? amount : amount - by]),
    );
  facts.accounts.set(account.nodeId, {
    ...account,
    capacity: less(account.capacity),
    free: less(account.free),
    version: account.version + 1,
  });
}
