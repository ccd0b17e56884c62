import type { NodeSpec } from '../../lib/nodes/node.ts';
import type { Placement, Plan } from '../../lib/plans/plan.ts';

/** What a task has of its node. */
export type Wants = Pick<Placement, 'resources' | 'ports' | 'cores' | 'devices' | 'volumes'>;

/** A placement, and what its task had before, if the placement updates one in place. */
export interface Wanted {
  readonly before: Wants | undefined;
  readonly after: Wants;
}

/** A node as a plan finds it, what the plan gives back by stops and preemptions already given back. */
export interface Found {
  readonly spec: NodeSpec;
  /** Tasks that stay as they are. */
  readonly others: readonly Wants[];
}

/** The first thing that there is not enough of for all of `placed`, in the order of the specification. */
export function shortage({ spec, others }: Found, placed: readonly Wanted[]): string | undefined {
  const short = (name: string): boolean => {
    const all = [...others, ...placed.map(({ after }) => after)];
    const grows = placed.some(({ before, after }) => amount(after, name) > (before ? amount(before, name) : 0));
    return grows && all.reduce((sum, wants) => sum + amount(wants, name), 0) > capacity(spec, name);
  };
  /** Things that are asked for and were not held before. */
  const added = <T>(of: (wants: Wants) => readonly T[]) =>
    placed.flatMap(({ before, after }) => of(after).filter((thing) => !(before && of(before).includes(thing))));
  /** Things that somebody has, and keeps. */
  const held = <T>(of: (wants: Wants) => readonly T[]) => [
    ...others.flatMap(of),
    ...placed.flatMap(({ before, after }) => (before ? of(before).filter((thing) => of(after).includes(thing)) : [])),
  ];
  const clash = <T>(of: (wants: Wants) => readonly T[]) => {
    const [asked, taken] = [added(of), held(of)];
    return asked.some((thing, at) => taken.includes(thing) || asked.indexOf(thing) !== at);
  };

  const coresOf = ({ cores }: Wants) => cores;
  if (clash(coresOf)) return 'cores';
  if (short('cpu')) return 'cpu';
  if (added(coresOf).some((core) => !spec.cores.includes(core))) return 'cores';
  const custom = placed
    .flatMap(({ after }) => Object.keys(after.resources))
    .filter((name) => !['cpu', 'memory', 'disk'].includes(name))
    .sort();
  const resource = ['memory', 'disk', ...custom, 'max-tasks'].find(short);
  if (resource !== undefined) return resource;
  if (portsCollide(spec, others, placed)) return 'port-collision';
  const devicesOf = ({ devices }: Wants) => devices;
  const healthy = spec.devices.filter((device) => device.healthy).map(({ id }) => id);
  if (added(devicesOf).some((device) => !healthy.includes(device))) return 'device-unavailable';
  if (clash(devicesOf)) return 'device-oversubscribed';
  return volumeClash(others, placed) ? 'volume-conflict' : undefined;
}

/** Whether one of `placed` asks for a port that somebody has. First everything that is given up is. */
function portsCollide(spec: NodeSpec, others: readonly Wants[], placed: readonly Wanted[]): boolean {
  const among = (ports: Wants['ports'], port: Wants['ports'][number]) =>
    ports.some((one) => portText(one) === portText(port) && one.ignoreCollision === port.ignoreCollision);
  const kept = placed.flatMap(({ before, after }) => before?.ports.filter((port) => among(after.ports, port)) ?? []);
  const used = new Set([...others.flatMap(({ ports }) => ports), ...kept].map(portText));
  for (const { before, after } of placed) {
    for (const port of after.ports.filter((asked) => !among(before?.ports ?? [], asked))) {
      const taken = used.has(portText(port)) || reserved(spec, port.ip, port.value);
      if (taken && !port.ignoreCollision) return true;
      used.add(portText(port));
    }
  }
  return false;
}

function volumeClash(others: readonly Wants[], placed: readonly Wanted[]): boolean {
  const alone = ({ mode }: Placement['volumes'][number]) => mode === 'single-writer';
  const all = [...others, ...placed.map(({ after }) => after)].flatMap(({ volumes }) => volumes);
  const changed = placed.flatMap(({ before, after }) =>
    after.volumes.filter(
      (volume) => !before?.volumes.some((old) => old.source === volume.source && alone(old) === alone(volume)),
    ),
  );
  return changed.some(({ source }) => {
    const claims = all.filter((volume) => volume.source === source);
    return claims.length > 1 && claims.some(alone);
  });
}

/** The nodes of a plan, in the order of their ids. */
export function nodesOf({ placements, stops, preemptions }: Plan): string[] {
  return [...new Set<string>([...placements, ...stops, ...preemptions].map(({ nodeId }) => nodeId))].sort();
}

function portText({ ip, value }: { readonly ip: string; readonly value: number }): string {
  return `${ip} ${value}`;
}

/** What a task uses of a resource; of tasks themselves it is one. */
export function amount({ resources }: Pick<Wants, 'resources'>, name: string): number {
  return name === 'max-tasks' ? 1 : (resources[name] ?? 0);
}

export function capacity(spec: NodeSpec, name: string): number {
  return name === 'max-tasks' ? (spec.maxTasks ?? 1_000_000_000) : (spec.capacity[name] ?? 0);
}

/** Whether the node keeps `port` on `ip` for itself. */
function reserved(spec: NodeSpec, ip: string, port: number): boolean {
  const own = spec.addresses.filter((address) => address.ip === ip).map(({ reservedPorts }) => reservedPorts ?? '');
  return [spec.reservedPorts, ...own]
    .flatMap((text) => text.split(',').filter((part) => part !== ''))
    .some((part) => {
      const [from, to = from] = part.split('-').map(Number);
      return from !== undefined && to !== undefined && from <= port && port <= to;
    });
}
