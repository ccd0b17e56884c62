import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod/mini';
import { cronTimes } from '../../lib/cron/croner.ts';
import { AwsCalls } from '../../lib/providers/aws-calls.ts';
import type { ProviderContext } from '../../lib/providers/context.ts';
import { CustomProvider } from '../../lib/providers/custom.ts';
import { endMachines } from '../../lib/providers/end-machines.ts';
import { providersOf } from '../../lib/providers/providers.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import { instanceOf } from '../../lib/scaler/pool/membership.ts';
import type { Provider } from '../../lib/scaler/ports.ts';
import { type GameServerNodeSpec, readSpec } from '../../lib/scaler/spec/spec.ts';
import type { EpochMs } from '../../lib/time.ts';
import { shaped } from '../shape.ts';
import type { ScalerCase } from './case.ts';
import { hookCertificates } from './hook-certificates.ts';
import { groupNamed, managedTags, RecordedAws } from './recorded-aws.ts';
import { type HookCallSeen, startRecordedHook } from './recorded-hook.ts';

/** Cases of the calls of one provider: what it asks for, and never asks for, when it is told to do one thing. */

const call = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('Validate') }),
  z.strictObject({ op: z.literal('Increase'), increaseSize: z.number() }),
  z.strictObject({ op: z.literal('Delete'), names: z.array(z.string()) }),
]);
type Call = z.infer<typeof call>;

const callCase = z.looseObject({
  steps: z.array(z.looseObject({ call })),
  expect: z.strictObject({
    apiCalls: z.optional(
      z.array(
        z.strictObject({
          service: z.string(),
          op: z.string(),
          params: z.optional(z.record(z.string(), z.unknown())),
        }),
      ),
    ),
    /** `service:op`. */
    forbiddenCalls: z.optional(z.array(z.string())),
    grpcCalls: z.optional(z.array(z.strictObject({ path: z.string(), message: z.unknown() }))),
    isValid: z.optional(z.boolean()),
    errors: z.optional(z.array(z.string())),
  }),
});
type Expected = z.infer<typeof callCase>['expect'];

const CLUSTER = 'case';
const NODEGROUP = 'gameserver';

/** What came of the calls of a case. */
interface Came {
  readonly aws: RecordedAws;
  readonly hookCalls: readonly HookCallSeen[];
  readonly errors: string[];
}

/** What does not hold of a case of the calls of one provider, run through that provider with the outside recorded. */
export async function callDifferences(scalerCase: ScalerCase): Promise<string[]> {
  const kind = scalerCase.provider?.kind;
  if (kind !== 'eks' && kind !== 'asg' && kind !== 'custom') {
    return [`there is no provider ${kind}: those that make calls are eks, asg and custom`];
  }
  const read = shaped(callCase, scalerCase);
  if ('problems' in read) return [...read.problems];
  const { steps, expect } = read.data;
  const calls = steps.map((step) => step.call);
  const came = kind === 'custom' ? await throughHook(scalerCase, calls) : await throughAws(scalerCase, kind, calls);
  return differences(expect, came);
}

async function throughAws(scalerCase: ScalerCase, kind: 'eks' | 'asg', calls: readonly Call[]): Promise<Came> {
  const aws = new RecordedAws();
  const name = groupInto(aws, scalerCase);
  const context = contextOf(aws);
  const config = kind === 'eks' ? { nodegroup: NODEGROUP } : { autoScalingGroup: name };
  const spec = specOf({ ...scalerCase.spec, config: { ...config, ...configOf(scalerCase) } });
  const errors: string[] = [];
  for (const one of calls) {
    const provider = providersOf(context)('case', spec);
    // A tick has looked at the group before it does anything with it.
    await provider.describe();
    aws.calls = [];
    if (one.op === 'Delete') {
      const instances = one.names.map((node) => instanceNamed(scalerCase, node));
      const failures = await endMachines(new AwsCalls(context), name, instances);
      errors.push(...[...failures.values()].map(errorText));
    } else errors.push(...(await errorsOf(provider, one)));
  }
  return { aws, hookCalls: [], errors };
}

async function throughHook(scalerCase: ScalerCase, calls: readonly Call[]): Promise<Came> {
  const aws = new RecordedAws();
  const certificates = await hookCertificates();
  const hook = await startRecordedHook(certificates);
  const grpcHook = {
    address: `127.0.0.1:${hook.port}`,
    caBundle: Buffer.from(certificates.ca).toString('base64'),
  };
  const errors: string[] = [];
  try {
    const provider = new CustomProvider(contextOf(aws), 'case', specOf({ ...scalerCase.spec, grpcHook }), new Set());
    for (const one of calls) {
      if (one.op === 'Delete') errors.push(...(await failureOf(() => provider.endNodes(one.names))));
      else errors.push(...(await errorsOf(provider, one)));
    }
  } finally {
    hook.close();
  }
  return { aws, hookCalls: hook.calls, errors };
}

async function errorsOf(provider: Provider, one: Exclude<Call, { op: 'Delete' }>): Promise<string[]> {
  if (one.op === 'Increase') return failureOf(() => provider.increase({ by: one.increaseSize }));
  const { problems } = await provider.validate();
  return problems.map(({ path }) => `${path.replace(/^spec\./, '')}: FieldValueInvalid`);
}

async function failureOf(act: () => Promise<void>): Promise<string[]> {
  try {
    await act();
    return [];
  } catch (error) {
    if (error instanceof CallError) return [errorText(error)];
    throw error;
  }
}

/** As the files have it: a code, and before it the field that it is about. */
function errorText({ code, message }: CallError): string {
  const field = code === 'FieldValueInvalid' ? /^(\w+): /.exec(message)?.[1] : undefined;
  return field === undefined ? code : `${field}: ${code}`;
}

function contextOf({ eks, autoScaling }: RecordedAws): ProviderContext {
  const clock = () => Date.parse('2026-01-15T12:00:00Z') as EpochMs;
  return { cluster: CLUSTER, eks, autoScaling, resolveService: async () => undefined, clock };
}

function configOf({ spec }: ScalerCase): Record<string, string> {
  return (spec as { readonly config?: Record<string, string> }).config ?? {};
}

function specOf(input: object): GameServerNodeSpec {
  const read = readSpec({ replicas: 0, ...input }, cronTimes);
  if ('spec' in read) return read.spec;
  throw new Error(read.problems.map(({ path, message }) => `${path}: ${message}`).join('; '));
}

function instanceNamed({ cluster }: ScalerCase, name: string): string {
  const providerId = cluster.nodes?.find((node) => node.name === name)?.providerID ?? '';
  const instance = instanceOf({ providerId });
  if (instance === undefined) throw new Error(`node ${name} of the case has no provider id of an instance`);
  return instance;
}

/** Puts the group of a case into `aws`, as one of a node group; its name. */
function groupInto(aws: RecordedAws, { provider }: ScalerCase): string {
  const { status = 'ACTIVE', min = 0, max = 0, desired = 0, instances = [], suspendedProcesses = [] } = provider ?? {};
  const { autoScalingGroup } = (provider ?? {}) as { readonly autoScalingGroup?: string };
  const name = autoScalingGroup ?? `eks-${NODEGROUP}`;
  const machines = Object.fromEntries(instances.map(({ id, state }) => [id, state]));
  const group = groupNamed(name, machines, {
    MinSize: min,
    MaxSize: max,
    DesiredCapacity: desired,
    SuspendedProcesses: suspendedProcesses.map((ProcessName) => ({ ProcessName })),
    ...(provider?.kind === 'eks' ? { Tags: managedTags(CLUSTER, NODEGROUP) } : {}),
  });
  aws.groups.set(name, group);
  aws.nodegroups.set(NODEGROUP, {
    nodegroupName: NODEGROUP,
    status: status as 'ACTIVE',
    resources: { autoScalingGroups: [{ name }] },
  });
  return name;
}

function differences(expected: Expected, { aws, hookCalls, errors }: Came): string[] {
  const problems: string[] = [];
  const made = aws.calls.map(({ service, op }) => `${service}:${op}`);
  const { apiCalls = [], grpcCalls = [], forbiddenCalls = [], errors: wanted = [], isValid } = expected;
  const asked = apiCalls.map(({ service, op }) => `${service}:${op}`);
  const told = (what: string, want: unknown, got: unknown) => {
    if (isDeepStrictEqual(want, got)) return;
    problems.push(`${what}: expected ${JSON.stringify(want)}, got ${JSON.stringify(got)}`);
  };
  told('apiCalls', asked, made);
  for (const [at, { op, params = {} }] of apiCalls.entries()) {
    for (const [key, value] of Object.entries(params)) told(`${op}.${key}`, value, aws.calls[at]?.params[key]);
  }
  const forbidden = made.filter((one) => forbiddenCalls.includes(one));
  told('forbidden calls', [], forbidden);
  told(
    'grpcCalls',
    grpcCalls,
    hookCalls.map(({ path, message }) => ({ path, message: plain(message) })),
  );
  told('errors', wanted, errors);
  if (isValid !== undefined) told('isValid', isValid, errors.length === 0);
  return problems;
}

/** As JSON has it, without the classes of whoever read it. */
function plain(message: unknown): unknown {
  return JSON.parse(JSON.stringify(message));
}
