import type { NodeSpec } from '../../lib/nodes/node.ts';
import type { Placement, Plan, Preemption, Stop } from '../../lib/plans/plan.ts';
import { amount, capacity, nodesOf, shortage, type Wanted, type Wants } from './model-fit.ts';
import type { NodeSummary, ResultSummary, Summary, TaskSummary } from './summary.ts';

/**
 * A pool as the specification describes it, written apart from the code and as plainly as can be: plans one after the
 * other, and everything that a node has left added up anew from its tasks whenever it is asked for. It shares types with
 * the code under test and nothing else.
 */

export interface ModelSettings {
  readonly stopRelease: 'plan' | 'terminal';
  /** Refusals that make a node ineligible, and how many nodes may be made so; undefined: none ever is. */
  readonly threshold?: number | undefined;
  readonly marks?: number | undefined;
}

interface ModelTask {
  readonly taskId: string;
  readonly nodeId: string;
  wants: Wants;
  desired: 'running' | 'shutdown' | 'remove';
  ended: boolean;
  /** Whether it still counts against its node. */
  counts: boolean;
  readonly placedBy: string;
  changedBy: string;
}

interface ModelNode {
  spec: NodeSpec;
  eligible: boolean;
  refusals: number;
}

/** What a plan comes to. */
export interface Verdict {
  readonly status: 'applied' | 'partial' | 'rejected';
  /** Codes by node. */
  readonly rejected: ReadonlyMap<string, string>;
}

type Order = Stop | Preemption;

const DESIRED = ['running', 'shutdown', 'remove'] as const;

export class PoolModel {
  readonly #nodes = new Map<string, ModelNode>();
  readonly #tasks = new Map<string, ModelTask>();
  readonly #settings: ModelSettings;
  #marks: number;

  constructor(settings: ModelSettings = { stopRelease: 'plan' }) {
    this.#settings = settings;
    this.#marks = settings.marks ?? 0;
  }

  register(spec: NodeSpec): void {
    const before = this.#nodes.get(spec.nodeId);
    this.#nodes.set(spec.nodeId, {
      spec: { ...spec, drain: spec.drain ?? before?.spec.drain },
      eligible: spec.eligibility === undefined ? (before?.eligible ?? true) : spec.eligibility === 'eligible',
      refusals: before?.refusals ?? 0,
    });
  }

  /** Which nodes refuse `plan` as things stand, and what becomes of it. */
  decide(plan: Plan): Verdict {
    const rejected = new Map<string, string>();
    for (const node of nodesOf(plan)) {
      const code = this.refusal(plan, node);
      if (code !== undefined) rejected.set(node, code);
    }
    if (rejected.size === 0) return { status: 'applied', rejected };
    const nothing = plan.allAtOnce || rejected.size === nodesOf(plan).length;
    return { status: nothing ? 'rejected' : 'partial', rejected };
  }

  /** Does what `plan` wants of every node that is not in `rejected`; answers what a result says of it. */
  apply(plan: Plan, { status, rejected }: Verdict): ResultSummary {
    const committed = { placements: 0, stops: 0, preemptions: 0 };
    const alreadyGone: string[] = [];
    for (const node of status === 'rejected' ? [] : nodesOf(plan)) {
      if (rejected.has(node)) continue;
      const orders = (list: readonly Order[]) => {
        const outcomes = list.filter(({ nodeId }) => nodeId === node).map((order) => this.#end(order, plan.planId));
        alreadyGone.push(...outcomes.flatMap(({ gone }) => gone ?? []));
        return outcomes.filter(({ ended }) => ended).length;
      };
      committed.stops += orders(plan.stops);
      committed.preemptions += orders(plan.preemptions);
      committed.placements += this.#place(node, plan);
    }
    const ineligible = [...rejected.keys()].filter((node) => this.#count(node));
    const refresh = rejected.size > 0;
    return { status, committed, alreadyGone, rejected: Object.fromEntries(rejected), ineligible, refresh };
  }

  /** An agent's word that a task has ended. */
  end(key: string): void {
    const task = this.#tasks.get(key);
    if (!task || task.ended) return;
    task.ended = true;
    this.#release(task);
  }

  /** Why `node` refuses its part of `plan`; undefined if it does not. */
  refusal(plan: Plan, node: string): string | undefined {
    const placements = plan.placements.filter(({ nodeId }) => nodeId === node);
    if (placements.length === 0) return undefined;
    const found = this.#nodes.get(node);
    if (!found) return 'node-not-found';
    const { spec, eligible } = found;
    const status = spec.status ?? 'ready';
    if (status !== 'ready') return status === 'initializing' ? 'node-not-ready' : `node-${status}`;
    const known = placements.map((placement) => this.#tasks.get(keyOf(placement)));
    if (known.some((task) => task && (task.ended || task.desired !== 'running' || task.nodeId !== node))) {
      return 'task-conflict';
    }
    if ((!eligible || spec.drain) && known.some((task) => !task)) return 'node-ineligible';

    const placed = new Set(placements.map(keyOf));
    const stopped = this.#givenBack(plan, node);
    const others = this.#on(node).filter(([key]) => !placed.has(key) && !stopped.has(key));
    return shortage({ spec, others: others.map(([, { wants }]) => wants) }, this.#wanted(placements));
  }

  summary(results: Readonly<Record<string, ResultSummary>>): Summary {
    return {
      nodes: Object.fromEntries([...this.#nodes].map(([id, node]) => [id, this.#nodeSummary(id, node)])),
      tasks: Object.fromEntries([...this.#tasks].map(([key, task]) => [key, taskSummary(task)])),
      results,
    };
  }

  #on(node: string): [string, ModelTask][] {
    return [...this.#tasks].filter(([, task]) => task.nodeId === node && task.counts);
  }

  /** The tasks whose resources the stops and preemptions of `plan` give back on `node`. */
  #givenBack(plan: Plan, node: string): Map<string, ModelTask> {
    const orders = this.#settings.stopRelease === 'plan' ? [...plan.stops, ...plan.preemptions] : [];
    const keys = new Set(orders.filter(({ nodeId }) => nodeId === node).map(keyOf));
    return new Map(this.#on(node).filter(([key]) => keys.has(key)));
  }

  #wanted(placements: readonly Placement[]): Wanted[] {
    return placements.map((placement) => {
      const { resources, ports, cores, devices, volumes } = placement;
      const after = { resources, ports, cores, devices, volumes };
      return { before: this.#tasks.get(keyOf(placement))?.wants, after };
    });
  }

  #end(order: Order, plan: string): { ended: boolean; gone?: string } {
    const task = this.#tasks.get(keyOf(order));
    if (!task || task.nodeId !== order.nodeId) return { ended: false, gone: order.taskId };
    const wanted = 'desiredState' in order ? order.desiredState : 'shutdown';
    const higher = DESIRED.indexOf(wanted) > DESIRED.indexOf(task.desired);
    const gives = this.#settings.stopRelease === 'plan' && task.counts && !task.ended;
    if (!higher && !gives) return { ended: false };
    if (higher) task.desired = wanted;
    if (gives) this.#release(task);
    task.changedBy = plan;
    return { ended: !task.ended };
  }

  #release(task: ModelTask): void {
    task.counts = false;
  }

  #place(nodeId: string, plan: Plan): number {
    const placements = plan.placements.filter((placement) => placement.nodeId === nodeId);
    if (!this.#nodes.has(nodeId)) return 0;
    const wanted = this.#wanted(placements);
    const fresh = { desired: 'running', ended: false, counts: true } as const;
    placements.forEach((placement, at) => {
      const { taskId, planId } = { ...placement, ...plan };
      const wants = wanted[at]?.after ?? placement;
      const task = this.#tasks.get(keyOf(placement)) ?? {
        taskId,
        nodeId,
        wants,
        ...fresh,
        placedBy: planId,
        changedBy: planId,
      };
      task.wants = wants;
      task.changedBy = planId;
      this.#tasks.set(keyOf(placement), task);
    });
    return placements.length;
  }

  /** Counts a refusal; whether it has made the node ineligible. */
  #count(nodeId: string): boolean {
    const { threshold } = this.#settings;
    const node = this.#nodes.get(nodeId);
    if (!node?.eligible || threshold === undefined) return false;
    node.refusals++;
    if (node.refusals < threshold || this.#marks < 1) return false;
    this.#marks--;
    node.refusals = 0;
    node.eligible = false;
    return true;
  }

  #nodeSummary(nodeId: string, { spec, eligible, refusals }: ModelNode): NodeSummary {
    const tasks = this.#on(nodeId).map(([, task]) => task);
    const claims: Record<string, string> = {};
    const sharers: Record<string, string[]> = {};
    for (const core of spec.cores) claims[`core/${core}`] = '!free';
    for (const { id, healthy } of spec.devices) if (healthy) claims[`device/${id}`] = '!free';
    const share = (key: string, taskId: string) => {
      sharers[key] = [...new Set([...(sharers[key] ?? []), taskId])].sort();
    };
    for (const { taskId, wants } of tasks) {
      for (const core of wants.cores) claims[`core/${core}`] = taskId;
      for (const device of wants.devices) claims[`device/${device}`] = taskId;
      for (const { source, mode } of wants.volumes) {
        const key = `volume/${source}`;
        if (mode === 'single-writer') claims[key] = taskId;
        else share(key, taskId);
      }
      for (const { ip, value, ignoreCollision } of wants.ports) {
        const key = `port/${ip}/${value}`;
        if (ignoreCollision) share(key, taskId);
        else claims[key] = taskId;
      }
    }
    const used = tasks.flatMap(({ wants }) => Object.keys(wants.resources));
    const left = [...new Set(['max-tasks', ...Object.keys(spec.capacity), ...used])].map((name) => {
      const sum = tasks.reduce((total, { wants }) => total + amount(wants, name), 0);
      return [name, capacity(spec, name) - sum] as const;
    });
    const listed = (name: string) => name === 'max-tasks' || Object.hasOwn(spec.capacity, name);
    const free = Object.fromEntries(left.filter(([name, amountLeft]) => amountLeft !== 0 || listed(name)));
    return { free, claims, sharers, eligible, refusals };
  }
}

function taskSummary({ nodeId, wants, desired, ended, counts, placedBy, changedBy }: ModelTask): TaskSummary {
  return { ...wants, nodeId, desiredState: desired, ended, released: !counts, placedBy, changedBy, underWay: false };
}

/** Where a task is found: its slot and its id. */
export function keyOf({ serviceId, slot, nodeId, taskId }: Placement | Order): string {
  return `${slot === undefined ? `${serviceId}@${nodeId}` : `${serviceId}#${slot}`} ${taskId}`;
}
