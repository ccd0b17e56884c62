import { CallError, type CallErrorKind } from '../../lib/scaler/call-error.ts';
import type { Injected } from './case.ts';
import type { Intercept, ScalerWorld, WorldCall } from './world.ts';

/** The end of the function in the middle of a tick: no answer of the outside, so nothing that it may catch. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

const KINDS: readonly (readonly [RegExp, CallErrorKind])[] = [
  [/^(409|Conflict|ResourceInUseException|ScalingActivityInProgress|ResourceContention)$/, 'conflict'],
  [/^(429|TooManyRequests|Throttling(Exception)?|RequestLimitExceeded)$/, 'throttled'],
  [/^(401|403|Unauthorized|Forbidden|AccessDenied(Exception)?)$/, 'denied'],
  [/^(5\d\d|Timeout|DEADLINE_EXCEEDED|UNAVAILABLE|UNKNOWN|CANCELLED|ECONNRESET)$/, 'unknown'],
];

function errorOf({ error = 'Timeout', message, definite }: Injected): CallError {
  const kind = KINDS.find(([pattern]) => pattern.test(error))?.[1] ?? 'refused';
  return new CallError(definite === false ? 'unknown' : kind, error, message ?? error);
}

/** Lets each of `injected` happen once to the calls of a tick. */
export function faultsOf(world: ScalerWorld, injected: readonly Injected[]): Intercept {
  const left = injected.filter(({ fatal }) => fatal !== false);
  const take = (matches: (one: Injected) => boolean): Injected | undefined => {
    const at = left.findIndex(matches);
    return at === -1 ? undefined : left.splice(at, 1)[0];
  };
  return async (call, act) => {
    const before = take((one) => one.op !== 'crash' && one.op !== 'recheck' && isAbout(one, call));
    if (before !== undefined) strike(world, before, call);
    const result = before?.error === 'InstanceIdNotFound' ? (undefined as ReturnType<typeof act>) : act();
    if (take(({ op, after }) => op === 'crash' && after === nameOf(call)) !== undefined) throw new Killed('killed');
    const shown = take(({ op, node }) => op === 'recheck' && call.operation === 'podsOn' && node === call.subject);
    return shown === undefined ? result : ([GAME_POD] as typeof result);
  };
}

const GAME_POD = {
  namespace: 'default',
  name: 'last-moment',
  labels: { 'agones.dev/role': 'gameserver' },
  ownerKind: 'GameServer',
  phase: 'Running',
};

/** What the file calls an operation. */
function nameOf({ operation }: WorldCall): string {
  if (operation === 'snapshot' || operation === 'listGameServers') return 'list';
  return operation === 'writeLedger' ? 'ledger' : operation;
}

function isAbout({ op, name, node, instance }: Injected, call: WorldCall): boolean {
  if (op !== nameOf(call)) return false;
  const subject = name ?? instance ?? node;
  return subject === undefined || subject === call.subject;
}

function strike(world: ScalerWorld, one: Injected, call: WorldCall): void {
  if (one.op === 'validate') {
    if (one.reason === 'ProviderUnreachable') throw errorOf({ ...one, error: one.error ?? 'UNAVAILABLE' });
    world.problems = (one.errors ?? []).map((error) => {
      const [path = '', message = error] = error.split(': ');
      return { path, message };
    });
    return;
  }
  if (one.op === 'deleteGameServer' && one.then !== undefined) {
    const found = [...world.servers].find(([, { name }]) => name === call.subject);
    if (found) world.servers.set(found[0], { ...found[1], ...(one.then as object) });
  }
  if (one.replaced) {
    const node = world.nodes.get(call.subject);
    if (node) world.nodes.set(node.name, { ...node, uid: `${node.uid}-other`, unschedulable: false, annotations: {} });
  }
  if (one.error === 'InstanceIdNotFound') {
    // It left the group meanwhile: the provider makes sure of it, and says that it is done.
    if (world.group) {
      const instances = new Map(world.group.instances);
      instances.delete(call.subject);
      world.group = { ...world.group, instances };
    }
    world.log.instancesDeleted.push(call.subject);
    return;
  }
  throw errorOf(one);
}
