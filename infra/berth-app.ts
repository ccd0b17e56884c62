import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import cdkJson from '../cdk.json' with { type: 'json' };
import { checkedContext } from './context.ts';
import { FunctionsStack } from './functions-stack.ts';
import { checkedPrefix, DEFAULT_PREFIX } from './names.ts';
import { checkSettings, SettingsError, type SettingsOverrides, settingsWith } from './rules.ts';
import { checkedClusters } from './scaler-context.ts';
import { StateStack } from './state-stack.ts';
import { checkedVpc } from './vpc-settings.ts';

export interface BerthAppProps {
  /**
   * Context on top of that of `cdk.json`: `prefix` (default `Berth`), `alarmTopicArn` (default none), `clusters` that the
   * node scaler works on (default none, and no node scaler), `scalerVpc` (default none), any key of CDK's.
   * What the CDK command line is given with `-c` wins over both. Any other key is refused.
   */
  readonly context?: Readonly<Record<string, unknown>>;
  /** Where the cloud assembly is written. Default: what the CDK command line says, or else a new temporary directory. */
  readonly outdir?: string;
  /** Settings in place of those of `lib/settings.ts`, for tests and experiments. They are checked like the others. */
  readonly settings?: SettingsOverrides;
  /**
   * Whether `synth()` runs cdk-nag and CloudFormation's own rules over the templates, 3 seconds of 5. Default true;
   * the local engine, which deploys nothing, leaves them out.
   */
  readonly checks?: boolean;
}

/**
 * The whole app, built in this process: `berthApp().synth()` gives the cloud assembly with the stacks `BerthState` and
 * `BerthFunctions`, without an account, a network or Docker. The flags of `cdk.json` hold here as they do for the CDK
 * command line, so that the templates are the same.
 *
 * @throws SettingsError when settings break a rule of `rules.ts` or a context value cannot be used, or is none that
 * there is. `synth()` throws
 * when cdk-nag or CloudFormation's own rules find something that is not acknowledged.
 */
export function berthApp(props: BerthAppProps = {}): App {
  const { checks = true } = props;
  const settings = settingsWith(props.settings);
  checkSettings(settings);
  const app = new App({
    context: { ...cdkJson.context, ...props.context },
    // No resource that only counts which versions of CDK are in use: the templates hold Berth and nothing else.
    analyticsReporting: false,
    builtinCloudFormationValidation: checks,
    ...(props.outdir === undefined ? {} : { outdir: props.outdir }),
  });
  const context = checkedContext(app);
  const prefix = checkedPrefix(context.prefix ?? DEFAULT_PREFIX);
  const alarmTopicArn = checkedTopicArn(context.alarmTopicArn);
  const clusters = checkedClusters(context.clusters);
  const scalerVpc = checkedVpc(context.scalerVpc);
  if (scalerVpc !== undefined && clusters.length === 0) {
    throw new SettingsError([
      'context value scalerVpc is given and clusters is not, so that there is no node scaler to run in it: name the clusters with -c clusters=, or leave scalerVpc out',
    ]);
  }
  const state = new StateStack(app, `${prefix}State`, { prefix, settings });
  const functions = new FunctionsStack(app, `${prefix}Functions`, {
    prefix,
    settings,
    ...(alarmTopicArn === undefined ? {} : { alarmTopicArn }),
    clusters,
    ...(scalerVpc === undefined ? {} : { scalerVpc }),
  });
  // They are joined by names, that of an export included, so CDK cannot see the order by itself.
  functions.addStackDependency(state);
  if (checks) {
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  }
  return app;
}

function checkedTopicArn(arn: unknown): string | undefined {
  if (arn === undefined) {
    return undefined;
  }
  if (typeof arn !== 'string' || !/^arn:[^:]+:sns:[^:]+:\d{12}:[^:]+$/.test(arn)) {
    throw new SettingsError([
      `context value alarmTopicArn is ${JSON.stringify(arn)}; expected the ARN of an SNS topic, such as ` +
        'arn:aws:sns:eu-central-1:123456789012:alarms: leave it out for alarms without notifications',
    ]);
  }
  return arn;
}
