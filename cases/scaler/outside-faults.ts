import type { Fault, FaultRule } from '../../local/outside/faults.ts';
import type { Injected } from './case.ts';
import type { CaseHook } from './hook.ts';
import type { OutsideWorld } from './outside.ts';
import type { HookAnswer } from './recorded-hook.ts';

/** Faults of a case as the simulated services and the hook of a case know them. */

/** Reasons of Kubernetes, by the status that the files have. */
const REASONS: Readonly<Record<string, string>> = {
  '401': 'Unauthorized',
  '403': 'Forbidden',
  '404': 'NotFound',
  '409': 'Conflict',
  '410': 'Expired',
  '422': 'Invalid',
  '429': 'TooManyRequests',
  '500': 'InternalError',
  '503': 'ServiceUnavailable',
};

/** Codes of gRPC, by name. */
const CODES: Readonly<Record<string, number>> = {
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
};

/** What a fault strikes: requests of the services, by what the files call them. Of many, all are. */
const REQUESTS: Readonly<Record<string, Pick<FaultRule, 'service' | 'operation'>>> = {
  cordon: { operation: 'patch nodes' },
  uncordon: { operation: 'patch nodes' },
  annotate: { operation: 'patch nodes' },
  readNode: { operation: 'get nodes' },
  podsOn: { operation: 'list pods' },
  readGameServer: { operation: 'get gameservers' },
  deleteGameServer: { operation: 'delete gameservers' },
  deleteNode: { operation: 'delete nodes' },
  describe: { operation: 'DescribeAutoScalingGroups' },
  inspect: { operation: 'DescribeNodegroup' },
  locate: { operation: 'DescribeAutoScalingInstances' },
  increase: { operation: 'SetDesiredCapacity' },
  providerDelete: { operation: 'TerminateInstanceInAutoScalingGroup' },
};

const RPCS: Readonly<Record<string, 'Increase' | 'Delete'>> = { increase: 'Increase', providerDelete: 'Delete' };

/** Reads: whoever is refused may ask again within the tick, and the fault is to hold for all of it. */
const READS = ['list', 'readNode', 'podsOn', 'readGameServer', 'describe', 'inspect', 'locate', 'validate'];

export interface FaultContext {
  readonly world: OutsideWorld;
  /** Undefined: the case is of another provider than custom. */
  readonly hook: CaseHook | undefined;
  /** Ends the function in the middle of what it does. */
  kill(): Promise<void>;
}

/** Makes `one` happen to the next tick. Throws where nothing here does the like. */
export function injectFault(one: Injected, context: FaultContext): void {
  const { op, error = 'Timeout' } = one;
  const special = SPECIAL[op];
  if (special !== undefined) {
    special(one, context);
    return;
  }
  const rpc = context.hook && RPCS[op];
  if (rpc !== undefined) {
    context.hook?.next(rpc, { answer: hookFailure(error) });
    return;
  }
  const { outside } = context.world;
  const times = READS.includes(op) && one.fatal !== false ? Number.POSITIVE_INFINITY : 1;
  outside.faults.add({ ...ruleOf(one), times, fault: faultOf(one, context.world) });
}

const SPECIAL: Readonly<Record<string, (one: Injected, context: FaultContext) => void>> = {
  crash,
  validate: spoilValidation,
  recheck: showLastMoment,
};

/** The subject as the service has it: instances by id, everything else by name. */
function ruleOf({ op, name, node, instance, resource }: Injected): Omit<FaultRule, 'fault'> {
  if (op === 'list') return { operation: `list ${resource ?? 'nodes'}`, subject: '' };
  const requests = REQUESTS[op];
  if (requests === undefined) throw new Error(`the simulated services have no fault for ${op}`);
  const subject = name ?? instance ?? node;
  return { ...requests, ...(subject === undefined ? {} : { subject }) };
}

function faultOf(one: Injected, world: OutsideWorld): Fault {
  const { op, name = '', node = '', instance = '', error = 'Timeout', message, then } = one;
  if (op === 'deleteGameServer' && then !== undefined) {
    return { kind: 'meanwhile', act: () => world.changeServer(name, then.state ? { state: then.state } : {}) };
  }
  if (op === 'deleteNode' && one.replaced) return { kind: 'meanwhile', act: () => world.replaceNode(node) };
  if (error === 'InstanceIdNotFound') {
    // It left the group meanwhile: the service says so by itself, and what was asked for counts as done.
    const act = () => {
      world.dropInstance(instance);
      world.log.instancesDeleted.push(instance);
    };
    return { kind: 'meanwhile', act };
  }
  if (error === 'Timeout') return { kind: 'cut', effect: false };
  const reason = REASONS[error];
  const code = reason ?? error;
  const status = reason === undefined ? {} : { status: Number(error) };
  return { kind: 'refuse', code, ...status, ...(message === undefined ? {} : { message }) };
}

function hookFailure(error: string): HookAnswer {
  const code = CODES[error];
  if (code === undefined)
    throw new Error(`a hook does not answer with ${error}; what it may is: ${Object.keys(CODES).join(', ')}`);
  return { code, details: error };
}

function spoilValidation(
  { reason, errors = [], error = 'UNAVAILABLE' }: Injected,
  { world, hook }: FaultContext,
): void {
  if (reason === 'ProviderUnreachable') {
    hook?.always('Validate', hookFailure(error));
    for (const service of ['autoscaling', 'eks'] as const) {
      const operation = service === 'eks' ? 'DescribeNodegroup' : 'DescribeAutoScalingGroups';
      const fault = { kind: 'refuse', code: 'ServiceUnavailable', status: 503 } as const;
      world.outside.faults.add({ service, operation, times: Number.POSITIVE_INFINITY, fault });
    }
    return;
  }
  world.dropGroup();
  const details = errors.map((text) => {
    const [path = '', type = ''] = text.split(': ');
    return { type, message: 'the case has it so', field: path.replace(/^config\./, '') };
  });
  hook?.always('Validate', { reply: { is_valid: false, details } });
}

/** A game pod is there when a node is looked at again, and was not when all were. */
function showLastMoment({ node = '' }: Injected, { world }: FaultContext): void {
  const act = () => world.addPod({ name: 'last-moment', node, kind: 'game' });
  world.outside.faults.add({ operation: 'list pods', subject: node, fault: { kind: 'meanwhile', act } });
}

/** The function ends once what the case names has been done, before it hears of it. */
function crash({ after = '' }: Injected, context: FaultContext): void {
  const { world, hook, kill } = context;
  if (after === 'ledger') {
    crashBeforeTheNext(context);
    return;
  }
  const rpc = hook && RPCS[after];
  if (rpc !== undefined) {
    hook?.next(rpc, { before: kill });
    return;
  }
  const requests = REQUESTS[after];
  if (requests === undefined) throw new Error(`the simulated services do not tell when ${after} was done`);
  // One request of the cluster stands for several of the scaler's: the first that has done it counts.
  const done = () => (after === 'cordon' || after === 'uncordon' ? world.log[`${after}ed`].length > 0 : true);
  const act = () => (done() ? kill() : undefined);
  world.outside.faults.add({
    ...requests,
    times: Number.POSITIVE_INFINITY,
    fault: { kind: 'meanwhile', after: true, act },
  });
}

/** What is remembered is written right before a node is marked, or a hook is asked for machines: that never gets there. */
function crashBeforeTheNext({ world, hook, kill }: FaultContext): void {
  const act = async () => {
    await kill();
    throw new Error('the function has ended');
  };
  world.outside.faults.add({ operation: 'patch nodes', fault: { kind: 'meanwhile', act } });
  hook?.next('Increase', { before: kill, answer: hookFailure('UNAVAILABLE') });
}
