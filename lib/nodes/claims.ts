import type { TaskId } from '../ids.ts';
import type { Placement } from '../plans/plan.ts';

/**
 * Claims: what a node has that one task at a time may hold, unless they share it. A key names the thing, its value the
 * holder. Cores and devices are listed by the node, so their keys are there always, with `FREE` for a holder; ports and
 * volumes are anybody's to name, so their keys are there only while they are held.
 */
export type ClaimKey = string & { readonly __key: 'claim' };

/** Holder of a listed core or device that nobody holds. No task id begins with `!`. */
export const FREE = '!free';

export const coreKey = (core: number) => `core/${core}` as ClaimKey;
export const deviceKey = (device: string) => `device/${device}` as ClaimKey;
export const portKey = (ip: string, port: number) => `port/${ip}/${port}` as ClaimKey;
export const volumeKey = (source: string) => `volume/${source}` as ClaimKey;

/** Stands for a port on every address, in what a node withdraws. No address is spelled so. */
export const ANY_ADDRESS = '*';

/** Whether the key's thing is one that its node lists: a core or a device. */
export function isListed(key: string): boolean {
  return key.startsWith('core/') || key.startsWith('device/');
}

/** Whether the key's thing is a port. Who shares one may do so beside its holder; of volumes nobody may. */
export function isPort(key: string): boolean {
  return key.startsWith('port/');
}

/**
 * One claim of a task. `shared`: a volume beside other tasks that share it. `ignoring`: a port beside whoever holds it;
 * nobody else can claim it `exclusive` from then on. Both are held in a set of their own, since many hold them.
 */
export interface Claim {
  readonly key: ClaimKey;
  readonly kind: 'core' | 'device' | 'port' | 'volume';
  readonly mode: 'exclusive' | 'ignoring' | 'shared';
  /** What it is called in a message. */
  readonly name: string;
}

type Claimant = Pick<Placement, 'cores' | 'devices' | 'ports' | 'volumes'>;

/** All claims of a placement or task, in the order cores, ports, devices, volumes. */
export function claimsOf(task: Claimant): Claim[] {
  return [
    ...task.cores.map((core): Claim => ({ key: coreKey(core), kind: 'core', mode: 'exclusive', name: `core ${core}` })),
    ...task.ports.map(
      ({ ip, value, ignoreCollision }): Claim => ({
        key: portKey(ip, value),
        kind: 'port',
        mode: ignoreCollision ? 'ignoring' : 'exclusive',
        name: `port ${value} on ${ip}`,
      }),
    ),
    ...task.devices.map(
      (device): Claim => ({ key: deviceKey(device), kind: 'device', mode: 'exclusive', name: `device ${device}` }),
    ),
    ...task.volumes.map(
      ({ source, mode }): Claim => ({
        key: volumeKey(source),
        kind: 'volume',
        mode: mode === 'single-writer' ? 'exclusive' : 'shared',
        name: `volume ${source}`,
      }),
    ),
  ];
}

/** Bytes of a claim's entry in an account beside those of its key and its holder. */
const ENTRY_BYTES = 3;

/** Bytes that a claim on `key` takes of its node's account, or one more who shares it: none if the node lists the thing anyway. */
export function namedBytes(key: string, task: string): number {
  return isListed(key) ? 0 : Buffer.byteLength(key) + Buffer.byteLength(task) + ENTRY_BYTES;
}

/** What of `claims` is not in `others`, a claim being the same if its key and its mode are. */
export function claimsWithout(claims: readonly Claim[], others: readonly Claim[]): Claim[] {
  const known = new Set(others.map(({ key, mode }) => `${mode} ${key}`));
  return claims.filter(({ key, mode }) => !known.has(`${mode} ${key}`));
}

/** The tasks that hold a volume together, or a port beside its holder. */
export type Sharers = ReadonlySet<TaskId>;
