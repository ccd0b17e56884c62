import { Logger } from '@aws-lambda-powertools/logger';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { keepOutput, type Output } from '../../test/support/output.ts';
import type { Report } from '../scaler/act/report.ts';
import { CallError } from '../scaler/call-error.ts';
import { invalidStatus, type PoolStatus, unobservedStatus } from '../scaler/tell/status.ts';
import type { ObjectOutcome } from '../scaler/tick.ts';
import { RetryError } from '../store/errors.ts';
import { type ClusterReport, publishScalerMetrics, tellCluster } from './scaler-telemetry.ts';

let output: Output;
beforeEach(() => {
  vi.stubEnv('POWERTOOLS_METRICS_NAMESPACE', 'berth');
  output = keepOutput();
});

const IDLE: Report = { deeds: [], errors: [], findings: [], outOfTime: false };
const STATUS: PoolStatus = {
  ...{ effectiveTarget: 3, targetSource: 'base', protectedServers: 7, drains: [] },
  nodes: { active: 2, pending: 1, draining: 4, held: 5, notReady: 6 },
  conditions: [{ type: 'Degraded', status: 'False', reason: 'AsExpected', message: '' }],
};
const DEGRADED: PoolStatus = {
  ...STATUS,
  conditions: [{ type: 'Degraded', status: 'True', reason: 'AtProviderMaximum', message: 'raise it' }],
  degraded: ['AtProviderMaximum', 'DrainBlocked'],
};

const object = (name: string, status: PoolStatus = STATUS, report: Partial<Report> = {}): ObjectOutcome => {
  return { name, status, problems: [], report: { ...IDLE, ...report } };
};
const done = (objects: readonly ObjectOutcome[], more: object = {}): ClusterReport => ({
  ...{ cluster: 'eu-central-1/game', seconds: 1.5 },
  outcome: { kind: 'done', objects, errors: [], abandoned: [], leaving: [], ...more },
});
const other = (outcome: ClusterReport['outcome']): ClusterReport => ({ ...done([]), outcome });

/** What CloudWatch makes of the lines: `metric dimensions: value`. */
function published(): string[] {
  return output.objects().flatMap((line) => {
    const { _aws, ...properties } = line as Record<string, unknown> & {
      _aws: { CloudWatchMetrics: [{ Dimensions: string[][]; Metrics: { Name: string }[] }] };
    };
    const [{ Dimensions, Metrics }] = _aws.CloudWatchMetrics;
    const dimensions = Dimensions.flat().map((name) => `${name}=${properties[name]}`);
    return Metrics.map(({ Name }) => `${Name} ${dimensions.toSorted().join(' ')}: ${properties[Name]}`);
  });
}
const SERVICE = 'service=node-scaler';
const CLUSTER = 'cluster=eu-central-1/game';
const unobserved = () => published().filter((line) => line.startsWith('scaler.cluster_unobserved'));

it('fits what is wrong with thousands of nodes into one line of CloudWatch', () => {
  const long = 'ß'.repeat(400_000);
  const errors = Array.from(
    { length: 500 },
    () => ({ operation: 'cordon', subject: long, code: '409', message: long }) as const,
  );
  const status = {
    ...DEGRADED,
    conditions: [{ type: 'Degraded', status: 'True', reason: 'DrainBlocked', message: long }] as const,
  };
  const logger = new Logger({ serviceName: 'node-scaler' });
  tellCluster(logger, done([object('pool', status, { errors })], { errors, abandoned: [long] }));
  tellCluster(logger, other({ kind: 'failed', failure: new Error(long) }));
  const lines = output.objects().map((line) => JSON.stringify(line));
  expect(output.texts()).toEqual([]);
  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThan(256 * 1024);
});

describe('metrics', () => {
  it('are of pools, of the cluster, and of errors by class', () => {
    const call = { operation: 'cordon', subject: 'n', code: '409', message: '' } as const;
    const errors = [{ ...call, kind: 'conflict' }, { ...call, kind: 'conflict' }, call] as const;
    publishScalerMetrics(done([object('pool', DEGRADED, { errors })], { errors: [{ ...call, kind: 'denied' }] }));
    expect(published()).toEqual([
      ...['target: 3', 'active: 2', 'pending: 1', 'draining: 4', 'held: 5', 'allocated: 7'].map((of) => {
        const [name, value] = of.split(': ');
        return `scaler.${name} ${CLUSTER} pool=pool ${SERVICE}: ${value}`;
      }),
      `scaler.errors class=conflict ${CLUSTER} ${SERVICE}: 2`,
      `scaler.errors class=unobserved ${CLUSTER} ${SERVICE}: 1`,
      `scaler.errors class=denied ${CLUSTER} ${SERVICE}: 1`,
      `scaler.tick_seconds ${CLUSTER} ${SERVICE}: 1.5`,
      `scaler.cluster_unobserved ${CLUSTER} ${SERVICE}: 0`,
      `scaler.at_provider_maximum ${CLUSTER} ${SERVICE}: 1`,
      `scaler.drain_blocked ${CLUSTER} ${SERVICE}: 1`,
    ]);
    expect(output.texts()).toEqual([]);
  });

  it('are of no more than fifty pools, by name, and of none that was not seen', () => {
    const many = Array.from({ length: 60 }, (_, at) => object(`pool-${String(60 - at).padStart(2, '0')}`));
    publishScalerMetrics(done([...many, object('a-wrong-one', invalidStatus('InvalidSpec', 'x'))]));
    const targets = published().filter((line) => line.startsWith('scaler.target'));
    expect(targets).toHaveLength(49);
    expect(targets.at(-1)).toContain('pool=pool-49');
  });

  it.each<[what: string, report: ClusterReport, value: number]>([
    ['could not be reached', other({ kind: 'unobserved', error: new CallError('unknown', 'X', 'x') }), 1],
    ['ended in a bug', other({ kind: 'failed', failure: new Error('x') }), 1],
    ['could not be listed', done([object('p', unobservedStatus('x'))]), 1],
    ['does not know the kind', other({ kind: 'no-kind' }), 0],
    ['has a wrong object', done([object('p', invalidStatus('InvalidSpec', 'x'))]), 0],
  ])('say whether a cluster was observed: one that %s', (_, report, value) => {
    publishScalerMetrics(report);
    expect(unobserved()).toEqual([`scaler.cluster_unobserved ${CLUSTER} ${SERVICE}: ${value}`]);
  });

  it('are none of a tick that was not run: it would count as one that has seen nothing wrong', () => {
    publishScalerMetrics(other({ kind: 'held' }));
    publishScalerMetrics(other({ kind: 'past' }));
    expect(output.objects()).toEqual([]);
  });

  it('tell a database that is busy from a bug', () => {
    publishScalerMetrics(other({ kind: 'failed', failure: new RetryError('busy') }));
    expect(published()).toContain(`scaler.errors class=store ${CLUSTER} ${SERVICE}: 1`);
  });
});

describe('the log', () => {
  const told = (report: ClusterReport) => {
    tellCluster(new Logger({ serviceName: 'node-scaler' }), report);
    return output.objects();
  };

  it('has nothing of a tick that changed nothing, while all is well', () => {
    expect(told(done([object('pool')]))).toEqual([]);
    expect(told(other({ kind: 'past' }))).toEqual([]);
    expect(told(other({ kind: 'no-kind' }))).toEqual([]);
  });

  it('has one line of a pool that changed, with what was done by number', () => {
    const deeds = [
      { kind: 'cordoned', node: 'a' },
      { kind: 'cordoned', node: 'b' },
      { kind: 'increased', by: 5 },
    ] as const;
    const [line, ...more] = told(done([object('pool', STATUS, { deeds })]));
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      ...{ level: 'INFO', message: 'pool changed', cluster: 'eu-central-1/game', object: 'pool', target: 3 },
      ...{ source: 'base', active: 2, pending: 1, deeds: { cordoned: 2, increased: 5 } },
    });
  });

  it('has one line of a pool that is not as it should be, with ten of its errors and their number', () => {
    const error = { operation: 'read', subject: 'n', code: '500', message: 'no' } as const;
    const wrong = object('pool', DEGRADED, { errors: Array(12).fill(error), outOfTime: true });
    const [line, ...more] = told(done([{ ...wrong, problems: [{ path: 'spec', message: 'bad' }] }]));
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      ...{ level: 'WARN', message: 'pool is not as it should be', detail: 'raise it', failed: 12, outOfTime: true },
      ...{ errors: Array(10).fill(error), problems: [{ path: 'spec', message: 'bad' }], degraded: DEGRADED.degraded },
    });
  });

  it('has of an error what it says, and nothing that it carries along', () => {
    const cause = Object.assign(new Error('x'), { authorization: 'Bearer secret' });
    told(other({ kind: 'unobserved', error: new CallError('denied', '403', 'no right', { cause }) }));
    told(other({ kind: 'no-kind', unreleased: new RetryError('busy', { cause }) }));
    told(other({ kind: 'failed', failure: Object.assign(new Error('bug'), { token: 'secret' }) }));
    const lines = output.objects();
    expect(lines.map(({ level }) => level)).toEqual(['ERROR', 'WARN', 'ERROR']);
    expect(lines[0]?.error).toEqual({ name: 'CallError', kind: 'denied', code: '403', message: 'no right' });
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('tells of objects that are gone and whose nodes leave Berth, as long as there is something to tell', () => {
    const idle: Report = { deeds: [], errors: [], findings: [], outOfTime: false };
    const unregistered = { kind: 'unregistered', node: 'n', pool: 'eu', orphaned: 0 } as const;
    const findings = [{ reason: 'RegistrationFailed', message: 'held' } as const];
    const error = { operation: 'unregister', subject: 'n', code: '500', message: 'no', kind: 'refused' } as const;
    const report = done([], {
      leaving: [
        { name: 'nothing', report: idle },
        { name: 'leaves', report: { ...idle, deeds: [unregistered] } },
        { name: 'stays', report: { ...idle, findings, errors: [error] } },
      ],
    });
    expect(told(report)).toMatchObject([
      { level: 'INFO', object: 'leaves', deeds: { unregistered: 1 } },
      { level: 'WARN', object: 'stays', detail: ['held'], failed: 1, errors: [error] },
    ]);
    output = keepOutput();
    publishScalerMetrics(report);
    expect(published()).toContain(`scaler.errors class=refused ${CLUSTER} ${SERVICE}: 1`);
  });

  it('names objects of a kind that is gone whose nodes stay registered', () => {
    expect(told(other({ kind: 'no-kind', stranded: ['pool'] }))).toMatchObject([{ level: 'WARN', objects: ['pool'] }]);
  });

  it('names objects that are gone and were given up, and what could not be told', () => {
    const error = { operation: 'status', subject: 'pool', code: '409', message: 'no', kind: 'conflict' } as const;
    expect(told(done([], { abandoned: ['gone'], errors: [error] }))).toMatchObject([
      { level: 'WARN', errors: [error] },
      { level: 'WARN', object: 'gone' },
    ]);
  });
});
