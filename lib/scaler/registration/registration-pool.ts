import { attempt, note, type ObjectContext, remember } from '../act/tick-context.ts';
import type { Ledger, ObservedNode, RegisteredNode, Registration, Whereabouts } from '../observation.ts';
import type { Pool } from '../pool/classes.ts';
import type { NodeRegistry } from '../ports.ts';
import {
  digestOf,
  failed,
  planRegistration,
  presentNodes,
  type RegistrationPlan,
  type Removal,
} from './registration.ts';
import { type FateView, fateOf, strangersOf } from './registration-fate.ts';
import type { RegistryView } from './registration-read.ts';
import { BERTH_LABELS, compareMachine, isRegisteredBy, type PresentNode, registrarOf } from './registration-spec.ts';

/** What tells what has become of a node. */
export interface PoolScene extends Pick<FateView, 'snapshot' | 'group'> {
  /** Asked only of machines that nothing else tells of. Whom nobody knows anything of is not in the answer. */
  locate(instances: readonly string[]): Promise<ReadonlyMap<string, Whereabouts>>;
}

/** Brings what Berth has of one object's nodes in line with what is there. Whatever fails is told. */
export class PoolSync {
  readonly #context: ObjectContext;
  readonly #scene: PoolScene;
  readonly #registry: NodeRegistry;
  readonly #registrar: string;

  constructor(context: ObjectContext, scene: PoolScene, registry: NodeRegistry) {
    this.#context = context;
    this.#scene = scene;
    this.#registry = registry;
    this.#registrar = registrarOf(registry.cluster, context.object);
  }

  /** Takes every node of ours out of a pool. `since`: why, for who reads that some are left. Whether none is left. */
  async leave(pool: string, since: string): Promise<boolean> {
    const listed = await this.#list(pool);
    if (listed === undefined) return false;
    const plan = await this.#plan(pool, [], listed);
    if (!(await this.#carryOut(pool, plan))) {
      this.#tell(`nodes are still registered in pool ${pool}, ${since}`);
      return false;
    }
    return remember(this.#context, ({ registration: _, ...rest }) => rest);
  }

  async bring(pool: string, seen: Pick<Pool, 'nodes'>, { answer, asked }: RegistryView): Promise<void> {
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
    const present = presentNodes(seen, this.#context.deeds);
    const digest = digestOf(present);
    const last = this.#context.ledger.registration;
    const grouped = this.#scene.group !== undefined;
    const settled =
      last?.digest === digest &&
      (last.grouped ?? false) === grouped &&
      present.every(({ node }) => asked.get(pool)?.has(node.name));
    if (settled) {
      await this.#carryOut(pool, await this.#plan(pool, present, [...known.values()]));
      return;
    }
    const listed = await this.#list(pool);
    if (listed === undefined) return;
    const plan = await this.#plan(pool, present, listed);
    const changes = plan.removals.length + plan.entries.length > 0;
    if (changes && (last === undefined || last.digest !== undefined) && !(await this.#unsettle(pool, listed))) return;
    if (await this.#carryOut(pool, plan)) await this.#write({ pool, digest, ...(grouped ? { grouped } : {}) });
  }

  async #plan(
    pool: string,
    present: readonly PresentNode[],
    registered: readonly RegisteredNode[],
  ): Promise<RegistrationPlan> {
    const { snapshot, group } = this.#scene;
    const ours = registered.filter((one) => isRegisteredBy(this.#registrar, one));
    const view = {
      snapshot,
      deeds: this.#context.deeds,
      ...(group === undefined ? {} : { group }),
      whereabouts: await this.#locate(strangersOf(ours, { snapshot, ...(group === undefined ? {} : { group }) })),
      ended: this.#context.ledger.registration?.ended ?? [],
    };
    return planRegistration({
      pool,
      registrar: this.#registrar,
      present,
      registered,
      fateOf: (one) => fateOf(one, view),
    });
  }

  /** Machines that never were of a group are in none, running or not. A call that fails leaves them where they were. */
  async #locate(instances: readonly string[]): Promise<ReadonlyMap<string, Whereabouts>> {
    if (instances.length === 0 || !this.#wereGrouped()) return new Map();
    const answer = await attempt(this.#context, 'read', this.#context.object, () => this.#scene.locate(instances));
    return answer.ok ? answer.value : new Map(instances.map((instance) => [instance, 'here']));
  }

  /** Whether all of it is done, and no node stays that is to go. */
  async #carryOut(pool: string, { removals, entries, findings, keeps }: RegistrationPlan): Promise<boolean> {
    this.#context.findings.push(...findings);
    const stay = new Set<string>();
    for (const removal of removals) {
      if (!inTime(this.#context)) return false;
      if (!(await this.#remove(pool, removal))) stay.add(removal.seen.nodeId);
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
  async #remove(pool: string, removal: Removal): Promise<boolean> {
    const context = this.#context;
    const { seen, force } = removal;
    const { nodeId } = seen;
    if (force) {
      const fresh = await attempt(context, 'read', nodeId, () => context.cluster.readNode(nodeId));
      if (!fresh.ok || (fresh.value !== undefined && this.#mayBe(seen, fresh.value))) return false;
    }
    const answer = await attempt(context, 'unregister', nodeId, () => this.#registry.remove(pool, seen, { force }));
    if (!answer.ok) {
      this.#tell(`node ${nodeId} was not taken out of pool ${pool}: ${answer.error.message}`);
      return false;
    }
    if (answer.value === 'held') {
      if (!removal.force) this.#tell(removal.held);
      return false;
    }
    context.deeds.push({ kind: 'unregistered', node: nodeId, pool, orphaned: answer.value });
    return true;
  }

  /** Whether `fresh` may be what was registered: it may have joined since this tick looked, or have come back. */
  #mayBe(seen: RegisteredNode, fresh: ObservedNode): boolean {
    const compared = compareMachine(seen, fresh);
    if (compared !== 'unclear') return compared === 'same';
    return !this.#scene.snapshot.nodes.some(({ uid }) => uid === fresh.uid);
  }

  async #list(pool: string): Promise<readonly RegisteredNode[] | undefined> {
    const answer = await attempt(this.#context, 'readRegistry', pool, () => this.#registry.list(pool));
    if (answer.ok) return answer.value;
    this.#tell(unreadMessage(pool, answer.error.message));
    return undefined;
  }

  /** Whether all that is registered so far was of a group. */
  #wereGrouped(): boolean {
    const { registration } = this.#context.ledger;
    return registration === undefined ? this.#scene.group !== undefined : registration.grouped === true;
  }

  /** Takes the digest out, and of the machines that were ended those whose nodes are gone from Berth. */
  #unsettle(pool: string, listed: readonly RegisteredNode[]): Promise<boolean> {
    const uids = new Set(listed.map(({ labels }) => labels[BERTH_LABELS.uid]));
    const ended = (this.#context.ledger.registration?.ended ?? []).filter((uid) => uids.has(uid));
    const grouped = this.#scene.group !== undefined && this.#wereGrouped();
    return this.#write({ pool, ...(grouped ? { grouped } : {}), ...(ended.length === 0 ? {} : { ended }) });
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
export function inTime(context: ObjectContext): boolean {
  if (context.clock() < context.deadline) return true;
  context.outOfTime = true;
  return false;
}
