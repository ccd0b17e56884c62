import * as z from 'zod/mini';
import { isId } from '../../ids.ts';
import { flag, integer, listOf, objectOf, type Problem, problemsOf, recordOf, text } from '../../schema.ts';
import { SCALER } from '../../settings.ts';
import { type EpochMs, isoTime } from '../../time.ts';
import { cronProblem } from './cron-expression.ts';
import type { CronTimes } from './cron-times.ts';

/** What `spec.provider` may say. `auto`: found from the provider ids of the pool's nodes. */
const PROVIDERS = ['auto', 'eks', 'asg', 'minikube', 'custom'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

const replicas = integer(0, SCALER.maxReplicas);
const name = text(1, 63);

const schedule = objectOf({
  name,
  timezone: text(1, 64),
  cron: text(1, 256),
  durationMinutes: integer(1, SCALER.maxWindowMinutes),
  replicas,
  leadSeconds: z._default(integer(0, SCALER.maxLeadSeconds), 0),
});

const INSTANT = 'a time as in RFC 3339 with a zone, such as 2027-03-01T08:00:00Z';
const YEARS = 'a time of the years 0000 to 9999 in UTC';
const instant = z.pipe(
  z.iso.datetime({ offset: true, error: INSTANT }).check(z.refine(isInYears, { error: `expected ${YEARS}` })),
  z.transform((at) => Date.parse(at) as EpochMs),
);

/** Whether `at` has a year of four digits in UTC too, as the status shows it; of what is no time something else is told. */
function isInYears(at: string): boolean {
  const ms = Date.parse(at);
  return Number.isNaN(ms) || /^\d{4}-/.test(isoTime(ms as EpochMs));
}

const override = objectOf({ name, start: instant, end: instant, replicas });

/** `caBundle`, `address` and so on of the hook that provider custom calls. */
const grpcHook = objectOf({
  address: z.optional(z.string().check(z.regex(/^[A-Za-z0-9.-]+:\d{1,5}$/, { error: 'host:port' }))),
  service: z.optional(objectOf({ name: text(1, 63), namespace: text(1, 63), port: z.optional(integer(1, 65_535)) })),
  caBundle: z.string({ error: 'base64 of certificates in PEM' }).check(
    z.maxLength(SCALER.caBundleLength, { error: `at most ${SCALER.caBundleLength} characters` }),
    // `-----BEGIN` in base64.
    // No blanks on both sides of what may be missing: of a text that fails at its end each blank would be tried with each.
    z.regex(/^LS0tLS1CRUdJT[A-Za-z0-9+/\s]*(=\s*){0,2}$/, { error: 'base64 of certificates in PEM' }),
  ),
  port: z._default(integer(1, 65_535), 443),
});

const specSchema = objectOf({
  replicas,
  provider: z._default(z.enum(PROVIDERS, { error: `one of ${PROVIDERS.join(', ')}` }), 'auto'),
  config: z._default(recordOf(text(1, 128), text(0, SCALER.configLength), SCALER.configEntries, 'texts by name'), {}),
  paused: z._default(flag, false),
  maxGameServerDeletesPerTick: z.optional(integer(0, Number.MAX_SAFE_INTEGER)),
  drainWarningSeconds: z._default(integer(0, 366 * 24 * 3600), SCALER.drainWarningSeconds),
  schedules: z._default(listOf(schedule, SCALER.schedulesPerObject), []),
  overrides: z._default(listOf(override, SCALER.overridesPerObject), []),
  grpcHook: z.optional(grpcHook),
});

/** The spec of a GameServerNode with its defaults filled in; times in epoch milliseconds. */
export type GameServerNodeSpec = z.output<typeof specSchema>;
export type Schedule = GameServerNodeSpec['schedules'][number];
export type Override = GameServerNodeSpec['overrides'][number];

/** Why an object is acted on in no way: reason of its condition Valid=False. */
export type InvalidReason = 'InvalidSpec' | 'InvalidConfig' | 'UnknownProvider';

export type ReadSpec =
  | { readonly spec: GameServerNodeSpec }
  | { readonly reason: InvalidReason; readonly problems: readonly Problem[] };

/**
 * The spec of a GameServerNode, or every problem with it, each with the path of the value (`spec.schedules[0].cron`),
 * what was expected and what came. An object with any problem is acted on in no way.
 */
export function readSpec(input: unknown, times: CronTimes): ReadSpec {
  const outcome = specSchema.safeParse(input);
  if (!outcome.success) {
    const problems = problemsOf(outcome.error, input, ['spec']);
    const provider = problems.length === 1 && problems[0]?.path === 'spec.provider';
    return { reason: provider ? 'UnknownProvider' : 'InvalidSpec', problems };
  }
  const spec = outcome.data;
  const problems = [
    ...spec.schedules.flatMap((one, at) => scheduleProblems(one, `spec.schedules[${at}]`, times)),
    ...spec.overrides.flatMap((one, at) => overrideProblems(one, `spec.overrides[${at}]`)),
    ...nameProblems('spec.schedules', spec.schedules),
    ...nameProblems('spec.overrides', spec.overrides),
    ...hookProblems(spec),
  ];
  if (problems.length > 0) return { reason: 'InvalidSpec', problems };
  const misfits = configProblems(spec);
  return misfits.length > 0 ? { reason: 'InvalidConfig', problems: misfits } : { spec };
}

function scheduleProblems({ cron, timezone }: Schedule, path: string, times: CronTimes): Problem[] {
  const problem = cronProblem(cron);
  return [
    ...(problem === undefined ? [] : [{ path: `${path}.cron`, message: problem }]),
    ...(times.hasZone(timezone)
      ? []
      : [{ path: `${path}.timezone`, message: `expected an IANA time zone such as Europe/Berlin, got "${timezone}"` }]),
  ];
}

function overrideProblems({ start, end }: Override, path: string): Problem[] {
  return end > start ? [] : [{ path: `${path}.end`, message: 'expected a time after start: swap them, or mend one' }];
}

function nameProblems(path: string, entries: readonly { readonly name: string }[]): Problem[] {
  return entries.flatMap((entry, at) =>
    entries.findIndex((other) => other.name === entry.name) === at
      ? []
      : [{ path: `${path}[${at}].name`, message: `expected a name of its own, got "${entry.name}" again` }],
  );
}

function hookProblems({ provider, grpcHook: hook }: GameServerNodeSpec): Problem[] {
  const path = 'spec.grpcHook';
  if (provider !== 'custom') {
    return hook === undefined
      ? []
      : [{ path, message: `is for provider custom only: take it out, or change provider` }];
  }
  if (hook === undefined) return [{ path, message: 'expected an object with address or service: provider is custom' }];
  if ((hook.address === undefined) === (hook.service === undefined)) {
    const got = hook.address === undefined ? 'neither' : 'both';
    return [{ path, message: `expected exactly one of address and service, got ${got}` }];
  }
  return [];
}

/** Which keys of `config` name a pool's group, by provider. */
const GROUP_KEYS: { readonly [provider in ProviderName]: readonly string[] } = {
  auto: ['nodegroup', 'autoScalingGroup'],
  eks: ['nodegroup'],
  asg: ['autoScalingGroup'],
  minikube: [],
  custom: [],
};

function configProblems({ provider, config }: GameServerNodeSpec): Problem[] {
  const problems: Problem[] = [];
  const problem = (key: string, message: string) => problems.push({ path: `spec.config.${key}`, message });
  if (provider === 'eks' && !config.nodegroup)
    problem('nodegroup', 'expected the name of a managed node group, it is missing');
  if (provider === 'asg' && !config.autoScalingGroup) {
    problem('autoScalingGroup', 'expected the name of an Auto Scaling group, it is missing');
  }
  for (const key of ['nodegroup', 'autoScalingGroup']) {
    if (config[key] === undefined || provider === 'custom' || GROUP_KEYS[provider].includes(key)) continue;
    problem(key, `is not for provider ${provider}: take it out, or change provider`);
  }
  for (const key of provider === 'auto' ? GROUP_KEYS.auto : []) {
    if (config[key] === '') problem(key, 'expected a name, it is empty: write one, or take the key out');
  }
  // The other providers have none of the two, or one; to a hook both are its own affair.
  if (provider === 'auto' && config.nodegroup && config.autoScalingGroup)
    problem('autoScalingGroup', 'expected one of nodegroup and autoScalingGroup, got both');
  if (config.pool !== undefined && !isId(config.pool)) problem('pool', 'expected the name of a pool of Berth');
  if (config.replaceIneligible !== undefined && !/^(true|false)$/.test(config.replaceIneligible)) {
    problem('replaceIneligible', 'expected "true" or "false"');
  }
  if (config.replaceIneligible === 'true' && config.pool === undefined) {
    problem('pool', 'expected the name of a pool of Berth: replaceIneligible needs to know who is ineligible');
  }
  if (config.nodeSelector !== undefined && selectorOf(config.nodeSelector) === undefined) {
    problem('nodeSelector', 'expected label=value pairs with commas between, each label once');
  }
  return problems;
}

/** What decides which nodes an object means. */
export type PoolClaim = Pick<GameServerNodeSpec, 'provider' | 'config'>;

/**
 * What a spec that is wrong says of which pool is its own, as far as it says so: whoever has a slip of the pen in a schedule
 * has not given the pool away. Undefined: it names none.
 */
export function claimIn(input: unknown): PoolClaim | undefined {
  const { provider, config } = recordIn(input);
  const texts = Object.entries(recordIn(config)).filter((entry): entry is [string, string] => {
    return ['nodegroup', 'autoScalingGroup', 'nodeSelector'].includes(entry[0]) && typeof entry[1] === 'string';
  });
  if (texts.every(([, text]) => text.trim() === '')) return undefined;
  const named = PROVIDERS.find((one) => one === provider) ?? 'auto';
  return { provider: named, config: Object.fromEntries(texts) };
}

function recordIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Labels that a node of the pool has, each with its value; undefined: not a selector. */
export function selectorOf(selector: string | undefined): ReadonlyMap<string, string> | undefined {
  const labels = new Map<string, string>();
  if (selector === undefined) return labels;
  // One that is there and empty is refused: what a template has left empty would select every node of the cluster.
  for (const pair of selector.split(',')) {
    const match = /^\s*([A-Za-z0-9][A-Za-z0-9._/-]*)\s*={1,2}\s*([A-Za-z0-9._-]*)\s*$/.exec(pair);
    const [, label = '', value = ''] = match ?? [];
    if (match === null || labels.has(label)) return undefined;
    labels.set(label, value);
  }
  return labels;
}
