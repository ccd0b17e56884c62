import type { App } from 'aws-cdk-lib';
import { closestMatch } from 'leven';
import { SettingsError } from './rules.ts';

/** What the app is told by context (`-c KEY=VALUE`); docs/deploy.md says what each does. */
const KEYS = ['prefix', 'alarmTopicArn', 'clusters', 'scalerVpc'] as const;
type ContextValues = { readonly [key in (typeof KEYS)[number]]: unknown };

/** What the CDK command line keeps in the context without a colon in its name (`cdk acknowledge`, `cdk cli-telemetry`). */
const CDK_KEYS = ['acknowledged-issue-numbers', 'cli-telemetry'];

/** Slips of the finger up to which a key is told as the one that was meant: `alarmTopic` is three short of `alarmTopicArn`. */
const MOST_SLIPS = 3;

/**
 * The context values that `app` was given; undefined where one is left out. CDK itself puts flags, lookups and options of
 * its command line there, whose names have a colon.
 *
 * @throws SettingsError for every key that nothing would read: a deployment that leaves out what it was told goes unnoticed.
 */
export function checkedContext(app: App): ContextValues {
  const given = app.node.getAllContext() as Readonly<Record<string, unknown>>;
  const known: readonly string[] = [...KEYS, ...CDK_KEYS];
  const unknown = Object.keys(given).filter((key) => !key.includes(':') && !known.includes(key));
  if (unknown.length > 0) throw new SettingsError(unknown.map(problemOf));
  const { prefix, alarmTopicArn, clusters, scalerVpc } = given;
  return { prefix, alarmTopicArn, clusters, scalerVpc };
}

function problemOf(key: string): string {
  const meant =
    KEYS[KEYS.map(bare).indexOf(closestMatch(bare(key), KEYS.map(bare), { maxDistance: MOST_SLIPS }) ?? '')];
  return (
    `context value ${key} is none that Berth knows, and would have no effect: ` +
    `${meant === undefined ? '' : `did you mean ${meant}? `}There are ${KEYS.join(', ')}. ` +
    'Correct the -c, or take it out of cdk.json, cdk.context.json or ~/.cdk.json, wherever it stands'
  );
}

function bare(key: string): string {
  return key.toLowerCase().replace(/[^a-z]/g, '');
}
