import type { Pool } from './classes.ts';
import type { Ledger, RegisteredNode, Registration } from './observation.ts';
import type { NodeRegistry } from './ports.ts';
import { digestOf, failed, fateOf, planRegistration, presentNodes, type RegistrationPlan } from './registration.ts';
import type { RegistryView } from './registration-read.ts';
import { isMachineOf, type PresentNode, registrarOf } from './registration-spec.ts';
import type { Scene } from './scene.ts';
import { attempt, note, remember, type TickContext } from './tick-context.ts';

/** What the nodes of a pool are brought in line with, after the deeds of a tick. */
export interface Synced {
  readonly scene: Scene;
  readonly pool: Pool;
  /** What was read of Berth before the deeds; undefined: no object of the cluster names a pool. */
  readonly view: RegistryView | undefined;
  /** Undefined: the caller has none. */
  readonly registry: NodeRegistry | undefined;
}

/**
 * Brings what Berth has of a pool's nodes in line with what is there after the deeds of a tick. Whatever fails here is
 * told, holds up no machine, and is made good by the next tick.
 *
 * Nodes that are gone can only be found by reading all of the pool of Berth. The ledger has a digest of all that may be
 * registered, so that it is read only where a node came or went; the digest is taken out before that is written, so that
 * after a tick that dies in between all is read once more.
 */
export async function syncRegistration(context: TickContext, synced: Synced): Promise<void> {
  const wanted = synced.scene.spec.config.pool;
  const last = context.ledger.registration;
  if (wanted === undefined && last === undefined) return;
  if (synced.registry === undefined) {
    context.findings.push(failed('nodes cannot be registered with Berth from here'));
    return;
  }
  if (!inTime(context)) return;
  const one = new PoolSync(context, synced, synced.registry);
  if (last !== undefined && last.pool !== wanted && !(await one.leave(last.pool))) return;
  if (wanted !== undefined) await one.bring(wanted);
}

class PoolSync {
  readonly #context: TickContext;
  readonly #synced: Synced;
  readonly #registry: NodeRegistry;
  readonly #registrar: string;

  constructor(context: TickContext, synced: Synced, registry: NodeRegistry) {
    this.#context = context;
    this.#synced = synced;
    this.#registry = registry;
    this.#registrar = registrarOf(registry.cluster, context.object);
  }

  /** Takes every node of ours out of a pool that the object names no more. Whether none is left. */
  async leave(pool: string): Promise<boolean> {
    const listed = await this.#list(pool);
    if (listed === undefined) return false;
    const plan = this.#plan(pool, [], listed);
    if (!(await this.#carryOut(pool, plan))) {
      this.#tell(
        `nodes are still registered in pool ${pool}, which the object names no more: no other pool gets them before`,
      );
      return false;
    }
    return remember(this.#context, ({ registration: _, ...rest }) => rest);
  }

  async bring(pool: string): Promise<void> {
    const answer = this.#synced.view?.answer;
    if (answer === undefined) return;
    if (!answer.ok) {
      note(this.#context, 'readRegistry', pool, answer.error);
      this.#tell(unreadMessage(pool, answer.error.message));
      return;
    }
    const known = answer.value.get(pool);
    if (known === undefined) {
      this.#tell(
        `pool ${pool} does not exist in Berth: make it (berth pool create ${pool}), or correct spec.config.pool`,
      );
      return;
    }
    const present = presentNodes(this.#synced.pool, this.#context.deeds);
    const digest = digestOf(present);
    const asked = this.#synced.view?.asked.get(pool);
    const last = this.#context.ledger.registration;
    const settled = last?.digest === digest && present.every(({ node }) => asked?.has(node.name));
    if (settled) {
      await this.#carryOut(pool, this.#plan(pool, present, known.values()));
      return;
    }
    const listed = await this.#list(pool);
    if (listed === undefined) return;
    const plan = this.#plan(pool, present, listed);
    const changes = plan.removals.length + plan.entries.length > 0;
    if (changes && (last === undefined || last.digest !== undefined) && !(await this.#write({ pool }))) return;
    if (await this.#carryOut(pool, plan)) await this.#write({ pool, digest });
  }

  #plan(pool: string, present: readonly PresentNode[], registered: Iterable<RegisteredNode>): RegistrationPlan {
    const { snapshot, group } = this.#synced.scene;
    const { deeds } = this.#context;
    const view = { snapshot, deeds, ...(group === undefined ? {} : { group }) };
    return planRegistration({
      pool,
      registrar: this.#registrar,
      present,
      registered,
      fateOf: (one) => fateOf(one, view),
    });
  }

  /** Whether all of it is done, and no node stays that is to go. */
  async #carryOut(pool: string, { removals, entries, findings, keeps }: RegistrationPlan): Promise<boolean> {
    this.#context.findings.push(...findings);
    const stay = new Set<string>();
    for (const removal of removals) {
      if (!inTime(this.#context)) return false;
      if (!(await this.#remove(pool, removal.seen, removal.force))) stay.add(removal.seen.nodeId);
    }
    const free = entries.filter(({ spec, seen }) => seen !== undefined || !stay.has(spec.nodeId));
    if (free.length > 0 && !inTime(this.#context)) return false;
    const done = free.length === 0 || (await this.#register(pool, free));
    return done && stay.size === 0 && !keeps;
  }

  async #register(pool: string, entries: RegistrationPlan['entries']): Promise<boolean> {
    const context = this.#context;
    const answer = await attempt(context, 'register', pool, () => this.#registry.register(entries));
    if (!answer.ok) {
      this.#tell(`nodes of pool ${pool} were not registered, or not all: ${answer.error.message}`);
      return false;
    }
    for (const node of answer.value)
      this.#tell(`node ${node} of pool ${pool} was registered by somebody else meanwhile, and is left alone`);
    const left = new Set(answer.value);
    for (const { spec, seen } of entries) {
      if (seen === undefined && !left.has(spec.nodeId))
        context.deeds.push({ kind: 'registered', node: spec.nodeId, pool });
    }
    return left.size === 0;
  }

  /** Removes a node, after a last look at the cluster if its tasks are to be orphaned. Whether it is gone. */
  async #remove(pool: string, seen: RegisteredNode, force: boolean): Promise<boolean> {
    const context = this.#context;
    const { nodeId } = seen;
    if (force) {
      // Another tick may have registered what has joined since this one looked.
      const fresh = await attempt(context, 'read', nodeId, () => context.cluster.readNode(nodeId));
      if (!fresh.ok || (fresh.value !== undefined && isMachineOf(seen, fresh.value))) return false;
    }
    const answer = await attempt(context, 'unregister', nodeId, () => this.#registry.remove(pool, seen, { force }));
    if (!answer.ok) {
      this.#tell(`node ${nodeId} was not taken out of pool ${pool}: ${answer.error.message}`);
      return false;
    }
    if (answer.value === 'held') {
      this.#tell(
        `node ${nodeId} belongs to pool ${pool} no more, and tasks of Berth hold it: it takes no new ones, and goes when they have ended`,
      );
      return false;
    }
    context.deeds.push({ kind: 'unregistered', node: nodeId, pool, orphaned: answer.value });
    return true;
  }

  async #list(pool: string): Promise<readonly RegisteredNode[] | undefined> {
    const answer = await attempt(this.#context, 'readRegistry', pool, () => this.#registry.list(pool));
    if (answer.ok) return answer.value;
    this.#tell(unreadMessage(pool, answer.error.message));
    return undefined;
  }

  #write(registration: Registration): Promise<boolean> {
    return remember(this.#context, (ledger: Ledger) => ({ ...ledger, registration }));
  }

  #tell(message: string): void {
    this.#context.findings.push(failed(message));
  }
}

function unreadMessage(pool: string, why: string): string {
  return `what Berth has of pool ${pool} could not be read: ${why}. Its nodes count as eligible, and stay registered as they are`;
}

/** Something is to be looked at, at least: what time does not suffice for is told. */
function inTime(context: TickContext): boolean {
  if (context.clock() < context.deadline) return true;
  context.outOfTime = true;
  return false;
}
