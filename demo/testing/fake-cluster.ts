import { setImmediate as turn } from 'node:timers/promises';
import type { Eligibility, PlanResult, PoolSnapshot, Task } from '../../lib/client/index.ts';
import type { NodeSpec } from '../../lib/nodes/node.ts';
import { nodeSpecSchema } from '../../lib/nodes/node.ts';
import { type Plan, planSchema } from '../../lib/plans/plan.ts';
import { isTerminal, type TaskState } from '../../lib/tasks/states.ts';
import type { Cluster } from '../run/cluster.ts';

interface FakeNode {
  readonly spec: NodeSpec;
  eligibility: Eligibility;
  readonly events: { readonly message: string }[];
  refusals: number;
  readonly free: Record<string, number>;
  readonly claims: Map<string, string>;
}

interface FakeTask {
  readonly pool: string;
  readonly planId: string;
  readonly placement: Plan['placements'][number];
  state: TaskState;
  released: boolean;
}

/** What a test does to the fake to see that somebody notices. */
export interface FakeFaults {
  /** Changes a result before it is stored. */
  result?: (result: PlanResult) => PlanResult;
  /** Counts no refusals, whatever the pool sets. */
  tracksNothing?: boolean;
  /** Gives nothing back when a task ends. */
  keepsResources?: (taskId: string) => boolean;
}

/**
 * Berth in memory, as far as the demo uses it: plans are decided one after the other, node by node. Every answer takes a
 * turn of the event loop, so that workers see each other's plans only once those are decided.
 */
export class FakeCluster {
  readonly faults: FakeFaults = {};
  readonly stored = new Map<string, FakeTask>();
  readonly results = new Map<string, PlanResult>();
  /** Plans in the order in which they were decided. */
  readonly decided: Plan[] = [];
  readonly reports: { taskId: string; state: TaskState }[] = [];
  readonly #nodes = new Map<string, FakeNode>();
  readonly #indexes = new Map<string, number>();
  /** Refusals that make a node ineligible, by pool; of a pool that is not here none do. */
  readonly #thresholds = new Map<string, number>();

  /** The fake as an object of plain functions, which can be spread like the real one. */
  asCluster(): Cluster {
    return {
      registerPool: (spec) => this.registerPool(spec),
      registerNodes: (specs, onProgress) => this.registerNodes(specs, onProgress),
      node: (pool, node) => this.node(pool, node),
      snapshot: (pool) => this.snapshot(pool),
      push: (plan) => this.push(plan),
      submit: (plan, options) => this.submit(plan, options),
      result: (planId) => this.result(planId),
      reportTask: (task, report) => this.reportTask(task, report),
      tasks: (pool) => this.tasks(pool),
    };
  }

  async registerPool({ pool, settings }: Parameters<Cluster['registerPool']>[0]): ReturnType<Cluster['registerPool']> {
    this.#indexes.set(pool, 0);
    const { enabled = true, threshold } = settings?.tracker ?? {};
    if (enabled && threshold !== undefined) this.#thresholds.set(pool, threshold);
    return { pool, index: 0, shards: 8, settings: { stopRelease: 'plan' } } as Awaited<
      ReturnType<Cluster['registerPool']>
    >;
  }

  async registerNodes(...[inputs, onProgress]: Parameters<Cluster['registerNodes']>): Promise<void> {
    for (const input of inputs) {
      const spec = nodeSpecSchema.parse(input);
      const claims = new Map(spec.devices.map(({ id }) => [`device/${id}`, '!free']));
      const free = { ...spec.capacity, 'max-tasks': spec.maxTasks ?? 1_000 };
      this.#nodes.set(spec.nodeId, { spec, eligibility: 'eligible', events: [], refusals: 0, free, claims });
    }
    onProgress?.(inputs.length, inputs.length);
  }

  async snapshot(pool: string): Promise<PoolSnapshot> {
    const index = this.#indexes.get(pool) ?? 0;
    const nodes = [...this.#nodes.values()]
      .filter(({ spec }) => spec.pool === pool)
      .map(({ spec, eligibility, free, claims }) => ({
        nodeId: spec.nodeId,
        schedulable: eligibility === 'eligible',
        capacity: { ...spec.capacity, 'max-tasks': spec.maxTasks ?? 1_000 },
        free: { ...free },
        claims: new Map(claims),
        withdrawn: new Set(),
        labels: spec.labels,
      }));
    await turn();
    return { pool, index, nodes } as unknown as PoolSnapshot;
  }

  async node(_pool: string, nodeId: string): ReturnType<Cluster['node']> {
    const { eligibility, events } = this.#nodes.get(nodeId) as FakeNode;
    await turn();
    return { account: { eligibility }, events: [...events] } as unknown as Awaited<ReturnType<Cluster['node']>>;
  }

  async push(input: Parameters<Cluster['push']>[0]): Promise<void> {
    const plan = planSchema.parse(input);
    if (!this.results.has(plan.planId)) this.#decide(plan);
  }

  async submit(
    plan: Parameters<Cluster['submit']>[0],
    options?: Parameters<Cluster['submit']>[1],
  ): Promise<PlanResult> {
    await this.push(plan);
    await turn();
    options?.signal?.throwIfAborted();
    return this.results.get(plan.planId) as PlanResult;
  }

  async result(planId: string): Promise<PlanResult | undefined> {
    return structuredClone(this.results.get(planId));
  }

  async reportTask({ taskId }: { taskId: string }, { state }: { state: TaskState }): ReturnType<Cluster['reportTask']> {
    await turn();
    const task = this.stored.get(taskId);
    if (task === undefined) return 'not-found';
    if (isTerminal(task.state) || task.state === state) return 'unchanged';
    this.reports.push({ taskId, state });
    task.state = state;
    if (isTerminal(state)) this.#release(task);
    return 'applied';
  }

  async *tasks(pool: string): AsyncIterable<Task> {
    for (const task of this.stored.values()) {
      if (task.pool === pool) yield { ...task.placement, ...task } as unknown as Task;
    }
  }

  #decide(plan: Plan): void {
    const index = (this.#indexes.get(plan.pool) ?? 0) + 1;
    this.#indexes.set(plan.pool, index);
    this.decided.push(plan);
    const rejectedNodes: { nodeId: string; code: string; message: string }[] = [];
    const ineligibleNodes: string[] = [];
    let placed = 0;
    for (const nodeId of new Set(plan.placements.map((placement) => placement.nodeId))) {
      const placements = plan.placements.filter((placement) => placement.nodeId === nodeId);
      const code = this.#refusal(nodeId, placements);
      if (code === undefined) {
        for (const placement of placements) this.#commit(plan, placement);
        placed += placements.length;
      } else {
        rejectedNodes.push({ nodeId, code, message: `${code} is short` });
        if (code !== 'node-ineligible' && this.#marks(plan.pool, nodeId)) ineligibleNodes.push(nodeId);
      }
    }
    const status = rejectedNodes.length === 0 ? 'applied' : placed === 0 ? 'rejected' : 'partial';
    const result = {
      planId: plan.planId,
      pool: plan.pool,
      status,
      index,
      refreshIndex: rejectedNodes.length === 0 ? 0 : index,
      committed: { placements: placed, stops: 0, preemptions: 0 },
      rejectedNodes,
      ineligibleNodes,
      problems: [],
    } as unknown as PlanResult;
    this.results.set(plan.planId, this.faults.result?.(result) ?? result);
  }

  #refusal(nodeId: string, placements: Plan['placements']): string | undefined {
    const node = this.#nodes.get(nodeId);
    if (node === undefined) return 'node-not-found';
    if (node.eligibility === 'ineligible') return 'node-ineligible';
    const used: Record<string, number> = {};
    const devices = placements.flatMap((placement) => placement.devices);
    for (const { resources } of placements) {
      for (const [name, amount] of Object.entries(resources)) used[name] = (used[name] ?? 0) + amount;
    }
    const short = Object.entries(used).find(([name, amount]) => amount > (node.free[name] ?? 0));
    if (short !== undefined) return short[0];
    if (placements.length > (node.free['max-tasks'] ?? 0)) return 'max-tasks';
    const held = devices.some(
      (device, at) => node.claims.get(`device/${device}`) !== '!free' || devices.indexOf(device) !== at,
    );
    return held ? 'device-oversubscribed' : undefined;
  }

  /** Counts a refusal of a node; whether that makes it ineligible. */
  #marks(pool: string, nodeId: string): boolean {
    const node = this.#nodes.get(nodeId);
    if (node === undefined || this.faults.tracksNothing) return false;
    node.refusals += 1;
    if (node.refusals < (this.#thresholds.get(pool) ?? Number.POSITIVE_INFINITY)) return false;
    node.eligibility = 'ineligible';
    node.events.push({ message: `made ineligible: refused ${node.refusals} times` });
    return true;
  }

  #commit({ pool, planId }: Plan, placement: Plan['placements'][number]): void {
    this.stored.set(placement.taskId, { pool, planId, placement, state: 'assigned', released: false });
    this.#move(placement, -1);
  }

  #release(task: FakeTask): void {
    if (this.faults.keepsResources?.(task.placement.taskId)) return;
    task.released = true;
    this.#move(task.placement, 1);
  }

  #move({ nodeId, taskId, resources, devices }: Plan['placements'][number], sign: 1 | -1): void {
    const node = this.#nodes.get(nodeId) as FakeNode;
    for (const [name, amount] of Object.entries({ ...resources, 'max-tasks': 1 })) {
      node.free[name] = (node.free[name] ?? 0) + sign * amount;
    }
    for (const device of devices) node.claims.set(`device/${device}`, sign === 1 ? '!free' : taskId);
  }
}
