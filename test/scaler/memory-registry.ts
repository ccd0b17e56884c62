import { nodeSpecSchema } from '../../lib/nodes/node.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import type { RegisteredNode } from '../../lib/scaler/observation.ts';
import type { NodeRegistry, RegistryEntry } from '../../lib/scaler/ports.ts';

/** A node of a pool in memory, and how many tasks hold something of it. */
export type MemoryNode = RegisteredNode & { readonly tasks: number };

type Operation = 'read' | 'list' | 'register' | 'remove';

/** Pools of Berth in memory, by the rules of the tables. */
export class MemoryRegistry implements NodeRegistry {
  readonly cluster = 'prod';
  readonly pools = new Map<string, Map<string, MemoryNode>>();
  /** What was asked, in order: `read`, `list eu`, `register n1 n2`, `remove n1`. */
  calls: string[] = [];
  /** What a call is to fail with, or what happens right before it. */
  before: (operation: Operation) => void = () => undefined;
  #revisions = 0;

  constructor(...pools: readonly string[]) {
    for (const pool of pools) this.pools.set(pool, new Map());
  }

  async read(nodes: ReadonlyMap<string, readonly string[]>): Promise<Map<string, Map<string, RegisteredNode>>> {
    this.#call('read', '');
    const there = [...nodes].filter(([pool]) => this.pools.has(pool));
    return new Map(
      there.map(([pool, names]) => {
        const all = [...this.nodesOf(pool)];
        return [pool, new Map(all.filter(([name]) => names.includes(name)))];
      }),
    );
  }

  async list(pool: string): Promise<RegisteredNode[]> {
    this.#call('list', pool);
    return [...this.nodesOf(pool).values()];
  }

  async register(entries: readonly RegistryEntry[]): Promise<string[]> {
    this.#call('register', entries.map(({ spec }) => spec.nodeId).join(' '));
    return entries.flatMap((entry) => this.#registerOne(entry));
  }

  #registerOne({ spec: input, seen }: RegistryEntry): string[] {
    const spec = nodeSpecSchema.parse(input);
    const nodes = this.nodesOf(spec.pool);
    const before = nodes.get(spec.nodeId);
    if (before !== undefined && before.revision !== seen?.revision) return [spec.nodeId];
    nodes.set(spec.nodeId, {
      nodeId: spec.nodeId,
      capacity: spec.capacity,
      labels: spec.labels,
      status: spec.status ?? 'ready',
      drain: spec.drain ?? before?.drain ?? false,
      ineligible: before?.ineligible ?? false,
      tasks: before?.tasks ?? 0,
      revision: this.nextRevision(),
    });
    return [];
  }

  async remove(pool: string, seen: RegisteredNode, { force }: { readonly force: boolean }): Promise<number | 'held'> {
    this.#call('remove', seen.nodeId);
    const nodes = this.nodesOf(pool);
    const before = nodes.get(seen.nodeId);
    if (before === undefined) return 0;
    if (before.revision !== seen.revision) throw new CallError('conflict', 'NodeRegisteredAnewError', 'another one');
    if (before.tasks > 0 && !force) return 'held';
    nodes.delete(seen.nodeId);
    return before.tasks;
  }

  nextRevision(): number {
    this.#revisions += 1;
    return this.#revisions;
  }

  nodesOf(pool: string): Map<string, MemoryNode> {
    return this.pools.get(pool) ?? new Map();
  }

  /** Changes a node from outside; what is none of its registration leaves the revision as it is. */
  change(pool: string, name: string, change: Partial<MemoryNode>): void {
    const before = this.nodesOf(pool).get(name);
    if (before === undefined) throw new Error(`no node ${name} in pool ${pool}`);
    this.nodesOf(pool).set(name, { ...before, ...change });
  }

  takeCalls(): string[] {
    const { calls } = this;
    this.calls = [];
    return calls;
  }

  #call(operation: Operation, subject: string): void {
    this.calls.push(`${operation} ${subject}`.trim());
    this.before(operation);
  }
}
