import { SettingsError } from './rules.ts';

/** Where a function runs in a VPC. */
export interface VpcSettings {
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
}

const FIELDS = { subnetIds: /^subnet-[0-9a-f]{8,17}$/, securityGroupIds: /^sg-[0-9a-f]{8,17}$/ } as const;

/** What Lambda takes of each (VpcConfig). */
const MOST = { subnetIds: 16, securityGroupIds: 5 } as const;

/**
 * The VPC of the context value, as an object or as JSON; undefined where it is left out. Subnets want a way to AWS's
 * services: a NAT, or endpoints of their own for STS, EKS, Auto Scaling and DynamoDB.
 *
 * @throws SettingsError
 */
export function checkedVpc(input: unknown): VpcSettings | undefined {
  if (input === undefined) return undefined;
  const value = typeof input === 'string' ? fromJson(input) : input;
  const problems = typeof value === 'object' && value !== null ? problemsOf(value) : ['is no object'];
  if (problems.length === 0) return value as VpcSettings;
  throw new SettingsError(
    problems.map(
      (problem) =>
        `context value scalerVpc ${problem}; expected such as ` +
        '{"subnetIds":["subnet-0a1b2c3d"],"securityGroupIds":["sg-0a1b2c3d"]}: leave it out for clusters with a public endpoint',
    ),
  );
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function problemsOf(value: object): string[] {
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(FIELDS, name));
  const wrong = (Object.keys(FIELDS) as (keyof typeof FIELDS)[]).flatMap((name) => {
    const list = (value as Record<string, unknown>)[name];
    if (!Array.isArray(list) || list.length === 0) return [`has no ${name}`];
    if (list.length > MOST[name]) return [`has ${list.length} ${name}, and Lambda takes ${MOST[name]}`];
    return list.flatMap((id, at) =>
      typeof id === 'string' && FIELDS[name].test(id) ? [] : [`has ${JSON.stringify(id)} as ${name}[${at}]`],
    );
  });
  return [...unknown.map((name) => `has a field ${name}, which nothing reads`), ...wrong];
}
