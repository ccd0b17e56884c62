import type { Commit } from '../../lib/plans/ledger.ts';
import type { Plan } from '../../lib/plans/plan.ts';
import type { PlanResult } from '../../lib/plans/result.ts';
import type { Task } from '../../lib/tasks/task.ts';
import { type Audited, discrepancies, overcommitted } from './audit.ts';
import type { History } from './histories.ts';
import type { Witness } from './memory-bed.ts';
import type { MemoryState } from './memory-store.ts';
import { keyOf } from './model.ts';
import { nodesOf } from './model-fit.ts';
import { plansOf } from './run-history.ts';

/**
 * Follows a history step by step and notes every broken invariant: a resource that is overcommitted or a thing with two
 * holders at any moment, a plan that is decided twice or out of turn, a node of which a plan is committed in part. Whether
 * a refusal was right is not asked here: others may have changed the node since it was looked at.
 */
export class Follower implements Required<Witness> {
  readonly problems: string[] = [];
  readonly #plans: ReadonlyMap<string, Plan>;
  readonly #state: MemoryState;
  readonly #decided: string[] = [];
  /** How much of what is overcommitted, since less was registered than is used. */
  #over = new Map<string, number>();

  constructor(history: History, state: MemoryState) {
    this.#plans = new Map(plansOf(history).map((plan) => [plan.planId, plan]));
    this.#state = state;
  }

  committed({ results, tasks, nodes, events }: Commit): void {
    const plans = results.map(({ result }) => result.planId);
    for (const [at, { result }] of results.entries()) this.#result(result, plans.slice(at));
    for (const { image, before } of tasks.values()) {
      // A later plan of the same commit may have had the node made ineligible: its events tell of that.
      if (image && before === 0) this.#placed(image, nodes.has(image.nodeId), events.has(image.nodeId));
    }
    this.#audit('a commit', false);
  }

  ended(): void {
    this.#audit('an end', false);
  }

  registered(): void {
    this.#audit('a registration', true);
  }

  /** Plans that were never decided. */
  undecided(): string[] {
    return [...this.#plans.keys()].slice(this.#decided.length);
  }

  /** `since`: the plan and those after it in the same commit, which may have changed its tasks again. */
  #result(result: PlanResult, since: readonly string[]): void {
    const turn = [...this.#plans.keys()][this.#decided.length];
    const plan = this.#plans.get(result.planId);
    if (!plan || result.planId !== turn) {
      this.problems.push(`${result.planId} is decided, it is the turn of ${turn}`);
      return;
    }
    this.#decided.push(result.planId);
    const refused = new Set<string>(result.rejectedNodes.map(({ nodeId }) => nodeId));
    if (plan.allAtOnce && refused.size > 0 && result.status !== 'rejected') {
      this.problems.push(`${plan.planId} is all or nothing, and was committed in part`);
    }
    for (const node of nodesOf(plan)) {
      const committed = result.status !== 'rejected' && !refused.has(node);
      for (const order of [...plan.placements, ...plan.stops, ...plan.preemptions]) {
        if (order.nodeId !== node || result.alreadyGone.includes(order.taskId)) continue;
        const problem = outcomeProblem(order, this.#state.tasks.get(keyOf(order)), since, committed);
        if (problem) this.problems.push(`${plan.planId} on ${node}, committed ${committed}: ${problem}`);
      }
    }
  }

  /** A new task stands on a node that takes new ones. */
  #placed({ nodeId, taskId }: Task, accountWritten: boolean, marked: boolean): void {
    const account = this.#state.accounts.get(nodeId);
    const eligible = account?.eligibility === 'eligible' || marked;
    const taking = account?.status === 'ready' && eligible && !account.drain;
    if (!taking || !accountWritten) this.problems.push(`${taskId} was placed on ${nodeId}, which takes nothing`);
  }

  #audit(after: string, mayLower: boolean): void {
    const over = new Map<string, number>();
    for (const [node, account] of this.#state.accounts) {
      const tasks = [...this.#state.tasks.values()].filter((task) => task.nodeId === node && !task.released);
      const audited: Audited = { account, tasks };
      for (const problem of discrepancies(audited)) this.problems.push(`${node} after ${after}: ${problem}`);
      for (const [name, used] of overcommitted(audited)) {
        over.set(`${node}: ${name}`, used);
        const before = this.#over.get(`${node}: ${name}`);
        if (!mayLower && !(before !== undefined && used <= before)) {
          this.problems.push(`overcommitted after ${after}: ${used} of ${name} on ${node}`);
        }
      }
    }
    this.#over = over;
  }
}

/** What is wrong with the task of an order, at the moment at which the result is there. */
function outcomeProblem(
  order: Plan['placements' | 'stops' | 'preemptions'][number],
  task: Task | undefined,
  [plan = '', ...later]: readonly string[],
  committed: boolean,
): string | undefined {
  if (task?.undo || task?.state === 'pending') return `${order.taskId} is neither there nor gone`;
  const placement = 'resources' in order;
  if (!committed) return task?.lastPlanId === plan ? `${order.taskId} is of this plan` : undefined;
  if (placement) {
    const changed = task?.lastPlanId === plan || later.includes(task?.lastPlanId ?? '');
    return changed ? undefined : `${order.taskId} is not of this plan`;
  }
  const wanted = 'desiredState' in order ? order.desiredState : 'shutdown';
  const stopped = task?.desiredState === 'remove' || task?.desiredState === wanted;
  return stopped ? undefined : `${order.taskId} is wanted ${task?.desiredState}`;
}
