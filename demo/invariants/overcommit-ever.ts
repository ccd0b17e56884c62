import type { Finding, History, PlannedPlacement, PlanRecord, Tick, Violation } from './history.ts';
import { groupBy, joined } from './history.ts';

/**
 * Invariant 1 over the history: plans that were committed are taken in the order of their index, and before each all the
 * tasks are ended whose end was reported by the time its commit was over. If a node then has more on it than its
 * capacity, no order of the events that this process can have seen explains it. `checked` counts placements and ends.
 * Each pool counts its commits for itself, so each is looked at for itself.
 */
export function checkNoOvercommitEver(history: History): Finding {
  const pools = groupBy(history.plans, ({ pool }) => pool);
  return joined([...pools.values()].map((plans) => checkPool({ ...history, plans })));
}

function checkPool(history: History): Finding {
  const violations: Violation[] = [];
  const rooms = new Map(history.nodes.map((node) => [node.nodeId, new Room(node.capacity, node.devices)]));
  const ends = [...history.ends].sort((a, b) => a.sentAt - b.sentAt);
  const running = new Map<string, PlannedPlacement>();
  let checked = 0;
  let next = 0;
  for (const { plan, committedBy } of inCommitOrder(history.plans)) {
    for (let end = ends[next]; end !== undefined && end.sentAt < committedBy; end = ends[++next]) {
      const task = running.get(end.taskId);
      if (end.outcome !== 'applied' || task === undefined) continue;
      checked += 1;
      rooms.get(task.nodeId)?.giveBack(task);
      running.delete(end.taskId);
    }
    for (const placement of committedPlacements(plan)) {
      checked += 1;
      const room = rooms.get(placement.nodeId);
      running.set(placement.taskId, placement);
      for (const message of room?.take(placement) ?? ['it was never registered']) {
        const where = placement.nodeId;
        violations.push({ invariant: 1, where, message: `plan ${plan.planId}, task ${placement.taskId}: ${message}` });
      }
    }
  }
  return { checked, violations };
}

/** The placements of a plan that its answer says are committed: all but those of the nodes that refused it. */
export function committedPlacements({ placements, answer }: PlanRecord): readonly PlannedPlacement[] {
  if (answer === undefined || (answer.status !== 'applied' && answer.status !== 'partial')) return [];
  const refused = new Set<string>(answer.rejectedNodes.map(({ nodeId }) => nodeId));
  return placements.filter(({ nodeId }) => !refused.has(nodeId));
}

/**
 * The plans that were answered, in the order of their pool's index, each with the tick by which its commit was over at
 * the latest: when it was answered, or when a plan of a later commit was, if that came earlier.
 */
function inCommitOrder(plans: readonly PlanRecord[]): { plan: PlanRecord; committedBy: Tick }[] {
  const ordered = plans
    .filter((plan) => plan.answer !== undefined)
    .sort((a, b) => (a.answer?.index ?? 0) - (b.answer?.index ?? 0) || a.pushedAt - b.pushedAt);
  const latest = new Map<string, Tick>();
  return ordered
    .reverse()
    .map((plan) => {
      const committedBy = Math.min(
        plan.answeredAt ?? Number.POSITIVE_INFINITY,
        latest.get(plan.pool) ?? Number.POSITIVE_INFINITY,
      );
      latest.set(plan.pool, committedBy);
      return { plan, committedBy };
    })
    .reverse();
}

/** What is free on one node, as a child would count it. */
class Room {
  readonly #free: Map<string, number>;
  readonly #devices: Map<string, string | undefined>;

  constructor(capacity: Readonly<Record<string, number>>, devices: readonly string[]) {
    this.#free = new Map(Object.entries(capacity));
    this.#devices = new Map(devices.map((device) => [device, undefined]));
  }

  /** Takes what the task needs, and says what was not there. */
  take(task: PlannedPlacement): string[] {
    const short: string[] = [];
    for (const [name, amount] of Object.entries(task.resources)) {
      const left = (this.#free.get(name) ?? 0) - amount;
      this.#free.set(name, left);
      if (left < 0) short.push(`${name} is overcommitted by ${-left}`);
    }
    for (const device of task.devices) {
      const holder = this.#devices.get(device);
      if (!this.#devices.has(device)) short.push(`the node has no device ${device}`);
      else if (holder !== undefined) short.push(`device ${device} is held by ${holder}`);
      this.#devices.set(device, task.taskId);
    }
    return short;
  }

  giveBack(task: PlannedPlacement): void {
    for (const [name, amount] of Object.entries(task.resources))
      this.#free.set(name, (this.#free.get(name) ?? 0) + amount);
    for (const device of task.devices) {
      if (this.#devices.get(device) === task.taskId) this.#devices.set(device, undefined);
    }
  }
}
