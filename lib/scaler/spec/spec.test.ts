import { describe, expect, it } from 'vitest';
import { cronTimes } from '../../cron/croner.ts';
import { readSpec } from './spec.ts';

const PEM = 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t';
const eks = { replicas: 3, provider: 'eks', config: { nodegroup: 'gameserver' } };
const custom = { replicas: 3, provider: 'custom', grpcHook: { address: 'scaler.example:8443', caBundle: PEM } };
const schedule = {
  name: 'evening',
  timezone: 'Europe/Berlin',
  cron: '0 17 * * FRI',
  durationMinutes: 420,
  replicas: 12,
};
const override = { name: 'launch', start: '2027-03-01T08:00:00Z', end: '2027-03-03T08:00:00+01:00', replicas: 40 };

const read = (input: unknown) => readSpec(input, cronTimes);

describe('a spec', () => {
  it('gets its defaults', () => {
    expect(read({ replicas: 3 })).toEqual({
      spec: {
        replicas: 3,
        provider: 'auto',
        config: {},
        paused: false,
        drainWarningSeconds: 86_400,
        schedules: [],
        overrides: [],
      },
    });
  });

  it('has times as epoch milliseconds', () => {
    expect(read({ ...eks, schedules: [schedule], overrides: [override] })).toMatchObject({
      spec: {
        schedules: [{ leadSeconds: 0 }],
        overrides: [{ start: Date.parse('2027-03-01T08:00:00Z'), end: Date.parse('2027-03-03T07:00:00Z') }],
      },
    });
  });

  it.each([
    ['custom with an address', custom],
    [
      'custom with a service',
      { ...custom, grpcHook: { service: { name: 'hook', namespace: 'games' }, caBundle: PEM } },
    ],
    ['an Auto Scaling group', { replicas: 0, provider: 'asg', config: { autoScalingGroup: 'games' } }],
    ['a pool of Berth', { ...eks, config: { nodegroup: 'g', pool: 'eu', replaceIneligible: 'true' } }],
    ['a selector', { replicas: 1, provider: 'minikube', config: { nodeSelector: 'role=game, agones.dev/x=' } }],
  ])('may be of %s', (_, input) => {
    expect(read(input)).toHaveProperty('spec');
  });

  it.each([
    ['no object', 7, 'InvalidSpec', 'spec', /an object/],
    ['no replicas', { provider: 'eks' }, 'InvalidSpec', 'spec.replicas', /it is missing/],
    ['a negative target', { ...eks, replicas: -1 }, 'InvalidSpec', 'spec.replicas', /whole number from 0/],
    ['half a node', { ...eks, replicas: 1.5 }, 'InvalidSpec', 'spec.replicas', /whole number/],
    ['a text for a number', { ...eks, replicas: '3' }, 'InvalidSpec', 'spec.replicas', /got "3"/],
    ['an unknown field', { ...eks, replica: 3 }, 'InvalidSpec', 'spec.replica', /unknown field/],
    ['an unknown provider', { ...eks, provider: 'gke' }, 'UnknownProvider', 'spec.provider', /one of auto, eks/],
    [
      'six fields',
      { ...eks, schedules: [{ ...schedule, cron: '0 0 8 * * *' }] },
      'InvalidSpec',
      'spec.schedules[0].cron',
      /five fields/,
    ],
    [
      'an unknown zone',
      { ...eks, schedules: [{ ...schedule, timezone: 'CEST' }] },
      'InvalidSpec',
      'spec.schedules[0].timezone',
      /IANA/,
    ],
    [
      'no zone',
      { ...eks, schedules: [{ ...schedule, timezone: undefined }] },
      'InvalidSpec',
      'spec.schedules[0].timezone',
      /text/,
    ],
    [
      'an empty window',
      { ...eks, schedules: [{ ...schedule, durationMinutes: 0 }] },
      'InvalidSpec',
      'spec.schedules[0].durationMinutes',
      /from 1/,
    ],
    [
      'a name twice',
      { ...eks, schedules: [schedule, schedule] },
      'InvalidSpec',
      'spec.schedules[1].name',
      /of its own/,
    ],
    [
      'an override without zone',
      { ...eks, overrides: [{ ...override, start: '2027-03-01T08:00:00' }] },
      'InvalidSpec',
      'spec.overrides[0].start',
      /RFC 3339/,
    ],
    [
      'an override backwards',
      { ...eks, overrides: [{ ...override, end: override.start }] },
      'InvalidSpec',
      'spec.overrides[0].end',
      /after start/,
    ],
    [
      'a hook that is not for custom',
      { ...eks, grpcHook: custom.grpcHook },
      'InvalidSpec',
      'spec.grpcHook',
      /custom only/,
    ],
    [
      'custom without a hook',
      { replicas: 1, provider: 'custom' },
      'InvalidSpec',
      'spec.grpcHook',
      /address or service/,
    ],
    [
      'neither address nor service',
      { ...custom, grpcHook: { caBundle: PEM } },
      'InvalidSpec',
      'spec.grpcHook',
      /neither/,
    ],
    [
      'both',
      { ...custom, grpcHook: { ...custom.grpcHook, service: { name: 'a', namespace: 'b' } } },
      'InvalidSpec',
      'spec.grpcHook',
      /both/,
    ],
    [
      'no certificate',
      { ...custom, grpcHook: { address: 'a:1', caBundle: 'nonsense' } },
      'InvalidSpec',
      'spec.grpcHook.caBundle',
      /PEM/,
    ],
    ['a number in config', { ...eks, config: { nodegroup: 7 } }, 'InvalidSpec', 'spec.config.nodegroup', /text/],
    ['no node group', { replicas: 1, provider: 'eks' }, 'InvalidConfig', 'spec.config.nodegroup', /missing/],
    [
      'no group',
      { replicas: 1, provider: 'asg', config: { nodegroup: 'a' } },
      'InvalidConfig',
      'spec.config.autoScalingGroup',
      /missing/,
    ],
    [
      'a key of another provider',
      { replicas: 1, provider: 'minikube', config: { nodegroup: 'a' } },
      'InvalidConfig',
      'spec.config.nodegroup',
      /not for provider/,
    ],
    [
      'a flag that is none',
      { ...eks, config: { nodegroup: 'a', pool: 'p', replaceIneligible: 'yes' } },
      'InvalidConfig',
      'spec.config.replaceIneligible',
      /"true" or "false"/,
    ],
    [
      'who is to be replaced, of no pool',
      { ...eks, config: { nodegroup: 'a', replaceIneligible: 'true' } },
      'InvalidConfig',
      'spec.config.pool',
      /ineligible/,
    ],
    [
      'a selector that is none',
      { replicas: 1, config: { nodeSelector: 'a!b' } },
      'InvalidConfig',
      'spec.config.nodeSelector',
      /label=value/,
    ],
  ])('is refused with %s', (_, input, reason, path, why) => {
    const outcome = read(input);
    if ('spec' in outcome) throw new Error('it was accepted');
    expect(outcome.reason).toBe(reason);
    expect(outcome.problems.find((problem) => problem.path === path)?.message).toMatch(why);
  });

  it.each(['', ' , ', 'a=1,', 'a=1,a=2', '/=x'])('is refused with the selector "%s"', (nodeSelector) => {
    expect(read({ replicas: 1, provider: 'minikube', config: { nodeSelector } })).toMatchObject({
      reason: 'InvalidConfig',
      problems: [{ path: 'spec.config.nodeSelector' }],
    });
  });

  it.each(['nodegroup', 'autoScalingGroup'])('is refused with an empty %s, provider auto too', (key) => {
    expect(read({ replicas: 1, config: { nodegroup: 'a', autoScalingGroup: 'a', [key]: '' } })).toMatchObject({
      reason: 'InvalidConfig',
      problems: [{ path: `spec.config.${key}`, message: expect.stringContaining('it is empty') }],
    });
  });

  it('is refused with times that no status could show', () => {
    const overrides = [{ ...override, end: '9999-12-31T23:59:59-23:59' }];
    expect(read({ ...eks, overrides })).toMatchObject({
      reason: 'InvalidSpec',
      problems: [{ path: 'spec.overrides[0].end', message: 'expected a time of the years 0000 to 9999 in UTC' }],
    });
  });

  it('is refused at once where a certificate is a hundred thousand blanks', () => {
    const caBundle = `LS0tLS1CRUdJT${' '.repeat(99_000)}!`;
    const begun = performance.now();
    expect(read({ ...custom, grpcHook: { address: 'a:1', caBundle } })).toMatchObject({ reason: 'InvalidSpec' });
    // Each blank tried with each took twelve seconds.
    expect(performance.now() - begun).toBeLessThan(3_000);
  });
});
