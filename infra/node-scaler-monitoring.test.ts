import { beforeAll, describe, expect, test } from 'vitest';
import { ScalerTemplate } from '../test/support/scaler-template.ts';
import { byType } from '../test/support/synthesized.ts';

let scaler: ScalerTemplate;
beforeAll(() => {
  scaler = new ScalerTemplate();
});

describe('monitoring', () => {
  test('has an alarm on the function, and three on each cluster', () => {
    const alarms = byType(scaler.json, 'AWS::CloudWatch::Alarm').map(([id, { Properties }]) => {
      const of = Properties as Record<string, unknown>;
      return [id.replace(/^Monitoring(.*).{8}$/, '$1'), of] as const;
    });
    const common = {
      ...{ Namespace: 'Berth', Period: 60, Statistic: 'Maximum', Threshold: 1 },
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      Dimensions: [
        { Name: 'cluster', Value: 'eu-central-1/game' },
        { Name: 'service', Value: 'node-scaler' },
      ],
    };
    const named = new Map(alarms);
    expect(alarms.filter(([id]) => /Cluster|Provider|Drain/.test(id))).toHaveLength(12);
    expect(named.get('ClusterUnobservedeucentral1game')).toMatchObject({
      ...common,
      MetricName: 'scaler.cluster_unobserved',
      EvaluationPeriods: 5,
      // Nobody says that it observed nothing while it does not run.
      TreatMissingData: 'breaching',
    });
    expect(named.get('AtProviderMaximumeucentral1game')).toMatchObject({
      ...common,
      MetricName: 'scaler.at_provider_maximum',
      EvaluationPeriods: 15,
      TreatMissingData: 'notBreaching',
    });
    expect(named.get('DrainBlockedeucentral1game')).toMatchObject({
      ...common,
      MetricName: 'scaler.drain_blocked',
      EvaluationPeriods: 1,
      TreatMissingData: 'notBreaching',
    });
    expect(named.get('NodeScalerErrors')).toMatchObject({
      ...{ Namespace: 'AWS/Lambda', MetricName: 'Errors', EvaluationPeriods: 3, Threshold: 1 },
      Dimensions: [{ Name: 'FunctionName', Value: { Ref: scaler.fn().id } }],
    });
  });

  test('shows the function, and the pools of each cluster', () => {
    const text = JSON.stringify(scaler.single('AWS::CloudWatch::Dashboard', 'Monitoring').properties);
    for (const title of ['Node scaler: invocations', 'us-east-1/far: targets and active nodes'])
      expect(text).toContain(title);
    const [search] = text.match(/SEARCH\([^)]*scaler\.active[^)]*\)/) ?? [];
    expect(search?.replaceAll('\\', '')).toBe(
      `SEARCH('{"Berth",cluster,pool,service} MetricName="scaler.active" cluster="eu-central-1/game"', 'Maximum', 60)`,
    );
  });
});
