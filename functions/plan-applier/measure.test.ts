import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { NodeId } from '../../lib/ids.ts';
import type { CommittedGroup } from '../../lib/plans/apply.ts';
import type { Decided } from '../../lib/plans/fold.ts';
import type { PlanResult } from '../../lib/plans/result.ts';
import { keepOutput, type Output } from '../../test/support/output.ts';
import { deliveryOf } from '../../test/support/plans.ts';
import { PoolMeasure } from './measure.ts';

let output: Output;
beforeEach(() => {
  vi.stubEnv('POWERTOOLS_METRICS_NAMESPACE', 'berth');
  output = keepOutput();
});

let plans = 0;
function decided(status: PlanResult['status'], more: Partial<PlanResult> = {}, stored = false): Decided {
  const planId = `p${plans++}` as PlanResult['planId'];
  const result: PlanResult = {
    ...{ planId, pool: 'prod', status, index: 7, refreshIndex: 0, receivedAt: '', appliedAt: '' },
    ...{ committed: { placements: 0, stops: 0, preemptions: 0 }, rejectedNodes: [], ineligibleNodes: [] },
    ...{ alreadyGone: [], problems: [] },
    ...more,
  };
  return { delivery: deliveryOf({ planId, pool: 'prod' }), result, stored, differs: false };
}

const rejected = (...nodes: string[]) =>
  nodes.map((nodeId) => ({ nodeId: nodeId as NodeId, code: 'cpu', message: 'short of cpu' }));
const scored = (...nodes: string[]) => nodes.map((nodeId) => ({ nodeId: nodeId as NodeId, score: 3 }));
const group = (more: Partial<CommittedGroup>): CommittedGroup => ({
  ...{ pool: 'prod' as CommittedGroup['pool'], decided: [], marked: [], withheld: [], highestScore: 0 },
  ...more,
});

/** What CloudWatch makes of the one line: its metrics with their units, their values by name, and its dimensions. */
function published() {
  const [line, ...more] = output.objects();
  if (!line || more.length > 0) throw new Error(`one line is expected, not ${JSON.stringify(output.objects())}`);
  const { _aws, ...properties } = line as Record<string, unknown> & {
    _aws: {
      CloudWatchMetrics: {
        Namespace: string;
        Dimensions: string[][];
        Metrics: { Name: string; Unit: string }[];
      }[];
    };
  };
  const [directive, ...others] = _aws.CloudWatchMetrics;
  if (!directive || others.length > 0) throw new Error('one set of metrics is expected');
  const { Namespace, Dimensions, Metrics } = directive;
  return {
    namespace: Namespace,
    dimensions: Dimensions.map((names) => names.map((name) => `${name}=${properties[name]}`)),
    metrics: Object.fromEntries(Metrics.map(({ Name, Unit }) => [Name, [properties[Name], Unit]])),
    properties,
  };
}

describe('what is counted of a pool', () => {
  it('stands in one line of embedded metric format, each metric as a count under its name', () => {
    const measure = new PoolMeasure('prod');
    for (const each of [
      decided('applied'),
      decided('applied'),
      decided('partial', { rejectedNodes: rejected('n1', 'n2') }),
      decided('rejected', { rejectedNodes: rejected('n1') }),
      decided('expired'),
      decided('invalid'),
    ]) {
      measure.decided(each);
    }
    measure.committed(group({ marked: scored('n1'), withheld: scored('n2', 'n3'), highestScore: 4 }));
    measure.committed(group({ marked: scored('n4'), highestScore: 3 }));
    measure.publish();
    const count = (value: number) => [value, 'Count'];
    expect(published()).toMatchObject({
      namespace: 'berth',
      metrics: {
        'plan.applied': count(2),
        'plan.partial': count(1),
        'plan.rejected': count(1),
        'plan.expired': count(1),
        'plan.invalid': count(1),
        'plan.node_rejected': count(3),
        'plan.node_marked_ineligible': count(2),
        'plan.node_mark_withheld': count(2),
        'plan.node_score': count(4),
      },
    });
  });

  it('has no dimension but the pool, beside the service, which is always the same', () => {
    const measure = new PoolMeasure('prod');
    measure.decided(decided('rejected', { rejectedNodes: rejected('n1', 'n2') }));
    measure.publish();
    expect(published().dimensions).toEqual([['service=plan-applier', 'pool=prod']]);
  });

  it('names nodes and codes as properties, a hundred of them, and counts all', () => {
    const measure = new PoolMeasure('prod');
    const names = Array.from({ length: 130 }, (_, at) => `n${at}`);
    measure.decided(decided('partial', { rejectedNodes: rejected(...names.slice(0, 70)) }));
    measure.decided(decided('partial', { rejectedNodes: rejected(...names.slice(70)) }));
    measure.publish();
    const { metrics, properties } = published();
    expect(metrics['plan.node_rejected']).toEqual([130, 'Count']);
    expect(JSON.parse(String(properties.rejections))).toEqual(
      names.slice(0, 100).map((node) => ({ node, code: 'cpu' })),
    );
  });

  it('counts a plan once, however often it is delivered', () => {
    const measure = new PoolMeasure('prod');
    measure.decided(decided('applied'));
    measure.decided(decided('rejected', { rejectedNodes: rejected('n1') }, true));
    measure.publish();
    expect(published().metrics).toEqual({ 'plan.applied': [1, 'Count'] });
  });

  it('leaves out what did not happen', () => {
    const measure = new PoolMeasure('prod');
    measure.decided(decided('applied'));
    measure.committed(group({}));
    measure.publish();
    expect(published().metrics).toEqual({ 'plan.applied': [1, 'Count'] });
  });
});

describe('a name that is no pool', () => {
  const none = [['service=plan-applier', 'pool=none']];

  it('is no dimension: what is counted of it goes under none, and the name is a property', () => {
    const measure = new PoolMeasure('invented');
    measure.decided(decided('invalid', { index: 0 }));
    measure.publish();
    expect(published()).toMatchObject({
      dimensions: none,
      metrics: { 'plan.invalid': [1, 'Count'] },
      properties: { group: 'invented' },
    });
  });

  it('may be that of a message that is no plan', () => {
    const measure = new PoolMeasure('invented');
    measure.quarantined();
    measure.publish();
    expect(published()).toMatchObject({ dimensions: none, metrics: { 'plan.quarantined': [1, 'Count'] } });
  });

  it('is told from a pool of which a plan is wrong: that one was answered at an index', () => {
    const measure = new PoolMeasure('prod');
    measure.decided(decided('invalid', { index: 7 }));
    measure.publish();
    const { dimensions, properties } = published();
    expect(dimensions).toEqual([['service=plan-applier', 'pool=prod']]);
    expect(properties).not.toHaveProperty('group');
  });

  it('is not that of a pool whose plans come beside a message that is no plan', () => {
    const measure = new PoolMeasure('prod');
    measure.quarantined();
    measure.decided(decided('applied'));
    measure.publish();
    const { dimensions, metrics } = published();
    expect(dimensions).toEqual([['service=plan-applier', 'pool=prod']]);
    expect(metrics).toEqual({ 'plan.applied': [1, 'Count'], 'plan.quarantined': [1, 'Count'] });
  });
});

it('writes nothing where nothing happened', () => {
  const measure = new PoolMeasure('prod');
  measure.decided(decided('applied', {}, true));
  measure.publish();
  expect([...output.objects(), ...output.texts()]).toEqual([]);
});
