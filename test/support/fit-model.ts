import type { NodeSpec } from '../../lib/nodes/node.ts';
import type { Placement } from '../../lib/plans/plan.ts';

/**
 * One node as the specification describes it, written apart from the code: its tasks, and everything added up anew from
 * them for every question. It shares types with the code under test and nothing else.
 */
export class NodeModel {
  readonly spec: NodeSpec;
  readonly tasks = new Map<string, Placement>();

  constructor(spec: NodeSpec) {
    this.spec = spec;
  }

  /** The code with which the node refuses to take `takes` once `gives` are gone; undefined if they fit. */
  misfit(gives: readonly string[], takes: readonly Placement[]): string | undefined {
    const staying = [...this.tasks.values()].filter(({ taskId }) => !gives.includes(taskId));
    const all = [...staying, ...takes];
    const count = <T>(of: (task: Placement) => readonly T[], thing: T) =>
      all.flatMap(of).filter((other) => other === thing).length;
    const sum = (tasks: readonly Placement[], name: string) =>
      tasks.reduce((total, { resources }) => total + own(resources, name), 0);
    const short = (name: string) => sum(takes, name) > 0 && sum(all, name) > own(this.spec.capacity, name);

    const cores = takes.flatMap((task) => task.cores);
    if (cores.some((core) => count((task) => task.cores, core) > 1)) return 'cores';
    if (short('cpu')) return 'cpu';
    if (cores.some((core) => !this.spec.cores.includes(core))) return 'cores';
    if (short('memory')) return 'memory';
    if (short('disk')) return 'disk';
    const names = [...new Set(takes.flatMap(({ resources }) => Object.keys(resources)))].sort();
    const resource = names.filter((name) => name !== 'cpu').find(short);
    if (resource !== undefined) return resource;
    if (takes.length > 0 && all.length > (this.spec.maxTasks ?? 1_000_000_000)) return 'max-tasks';
    if (takes.some(({ ports, volumes }) => ports.length + volumes.length > 0) && named(all) > 96 * 1024)
      return 'max-tasks';
    if (this.#collides(gives, takes)) return 'port-collision';

    const devices = takes.flatMap((task) => task.devices);
    const usable = (id: string) =>
      this.spec.devices.some((device) => device.id === id) &&
      this.spec.devices.every((device) => device.id !== id || device.healthy);
    if (devices.some((id) => !usable(id))) return 'device-unavailable';
    if (devices.some((id) => count((task) => task.devices, id) > 1)) return 'device-oversubscribed';

    const claims = (source: string) => all.flatMap(({ volumes }) => volumes).filter((one) => one.source === source);
    const conflict = takes
      .flatMap(({ volumes }) => volumes)
      .some(({ source }) => claims(source).length > 1 && claims(source).some(({ mode }) => mode === 'single-writer'));
    return conflict ? 'volume-conflict' : undefined;
  }

  exchange(gives: readonly string[], takes: readonly Placement[]): void {
    for (const gone of gives) {
      this.tasks.delete(gone);
    }
    for (const task of takes) this.tasks.set(task.taskId, task);
  }

  /** Tasks by port that have it, those that ignore collisions or those that do not; by address and number. */
  ports(ignoreCollision: boolean): Map<string, string[]> {
    const users = new Map<string, string[]>();
    for (const { taskId, ports } of this.tasks.values()) {
      for (const port of ports.filter((one) => one.ignoreCollision === ignoreCollision)) {
        const name = `${port.ip} ${port.value}`;
        users.set(name, [...new Set([...(users.get(name) ?? []), taskId])].sort());
      }
    }
    return users;
  }

  /** What is left of each resource that the node has. */
  free(): Record<string, number> {
    const tasks = [...this.tasks.values()];
    const free: Record<string, number> = { 'max-tasks': (this.spec.maxTasks ?? 1_000_000_000) - tasks.length };
    for (const [name, capacity] of Object.entries(this.spec.capacity)) {
      free[name] = tasks.reduce((left, { resources }) => left - own(resources, name), capacity);
    }
    return free;
  }

  #collides(gives: readonly string[], takes: readonly Placement[]): boolean {
    const staying = [...this.tasks.values()].filter(({ taskId }) => !gives.includes(taskId));
    const used = new Set(staying.flatMap(({ ports }) => ports).map(({ ip, value }) => `${ip} ${value}`));
    for (const { ip, value, ignoreCollision } of takes.flatMap(({ ports }) => ports)) {
      const port = `${ip} ${value}`;
      if (!ignoreCollision && (used.has(port) || this.#reserves(ip, value))) return true;
      used.add(port);
    }
    return false;
  }

  #reserves(ip: string, port: number): boolean {
    const texts = [this.spec.reservedPorts];
    for (const address of this.spec.addresses) if (address.ip === ip) texts.push(address.reservedPorts ?? '');
    return texts
      .flatMap((text) => (text === '' ? [] : text.split(',')))
      .some((range) => {
        const [from, to] = range.split('-').map(Number);
        return port >= Number(from) && port <= Number(to ?? from);
      });
  }
}

/** Bytes of the names of the ports and volumes that `tasks` have, each beside its task's id and three bytes more. */
function named(tasks: readonly Placement[]): number {
  const entries = tasks.flatMap(({ taskId, ports, volumes }) => {
    const names = [
      ...ports.map(({ ip, value, ignoreCollision }) => `${ignoreCollision} port/${ip}/${value}`),
      ...volumes.map(({ source, mode }) => `${mode !== 'single-writer'} volume/${source}`),
    ];
    return [...new Set(names)].map((name) => `${name.slice(name.indexOf(' ') + 1)}${taskId}...`);
  });
  return entries.reduce((sum, entry) => sum + Buffer.byteLength(entry), 0);
}

/** Objects inherit a `constructor`; resources may be called so. */
function own(amounts: Readonly<Record<string, number>>, name: string): number {
  return new Map(Object.entries(amounts)).get(name) ?? 0;
}
