import { describe, expect, test } from 'vitest';
import { checkSettings, SettingsError, type SettingsOverrides, settingProblems, settingsWith } from './rules.ts';

const DAY = 86_400;

describe('the settings of lib/settings.ts', () => {
  test('can be deployed', () => {
    expect(settingProblems(settingsWith())).toEqual([]);
  });
});

interface Case {
  readonly what: string;
  readonly overrides: SettingsOverrides;
  /** What the one problem must say: the setting to blame, the number expected, how to mend it. */
  readonly says: readonly string[];
}

const REFUSED: readonly Case[] = [
  {
    what: 'a result that goes before the last copy of its message',
    overrides: { results: { retentionSeconds: 16 * DAY - 1 } },
    says: ['RESULTS.retentionSeconds is 1382399', 'at least 1382400', 'QUEUES.deadLetterRetentionSeconds 1209600'],
  },
  {
    what: 'a plan queue that keeps messages longer than results last',
    overrides: { queues: { planRetentionSeconds: 2 * DAY } },
    says: ['RESULTS.retentionSeconds is 1382400', 'QUEUES.planRetentionSeconds 172800', 'at least 1555200'],
  },
  {
    what: 'a visibility below six times the time-out',
    overrides: { queues: { planVisibilitySeconds: 179 } },
    says: ['QUEUES.planVisibilitySeconds is 179', 'APPLIER.timeoutSeconds (30)', '180'],
  },
  {
    what: 'a time-out raised without the visibility',
    overrides: { applier: { timeoutSeconds: 31 } },
    says: ['QUEUES.planVisibilitySeconds is 180', 'APPLIER.timeoutSeconds (31)', '186'],
  },
  {
    what: 'receives that take as long as the queue keeps a message',
    overrides: { queues: { planRetentionSeconds: 2700 } },
    says: ['QUEUES.planRetentionSeconds is 2700', 'take 2700 s', 'before it reaches the dead-letter queue'],
  },
  {
    what: 'dead letters that go before waiting plans do',
    overrides: { queues: { deadLetterRetentionSeconds: DAY - 1 } },
    says: ['QUEUES.deadLetterRetentionSeconds is 86399', 'QUEUES.planRetentionSeconds (86400)', 'raise it'],
  },
  {
    what: 'a reserve that leaves no time for a plan',
    overrides: { applier: { reserveMs: 30_000 } },
    says: ['APPLIER.reserveMs is 30000', '30000 ms in all', 'lower the reserve'],
  },
  {
    what: 'a batch larger than a FIFO queue gives',
    overrides: { applier: { batchSize: 11 } },
    says: ['APPLIER.batchSize is 11', 'from 1 to 10'],
  },
  {
    what: 'fewer receives than AWS advises with Lambda',
    overrides: { queues: { planMaxReceives: 4 } },
    says: ['QUEUES.planMaxReceives is 4', 'from 5 to 1000'],
  },
  {
    what: 'a retention past what SQS offers',
    overrides: { queues: { quarantineRetentionSeconds: 15 * DAY } },
    says: ['QUEUES.quarantineRetentionSeconds is 1296000', 'to 1209600'],
  },
  {
    what: 'less memory than Lambda has',
    overrides: { applier: { memoryMiB: 64 } },
    says: ['APPLIER.memoryMiB is 64', 'from 128'],
  },
  {
    what: 'half a second',
    overrides: { applier: { timeoutSeconds: 29.5 } },
    says: ['APPLIER.timeoutSeconds is 29.5', 'whole number'],
  },
  {
    what: 'a visibility of the sweep queue below six times the time-out',
    overrides: { sweeper: { visibilitySeconds: 359 } },
    says: ['SWEEPER.visibilitySeconds is 359', 'SWEEPER.timeoutSeconds (60)', '360'],
  },
  {
    what: "a sweeper's time-out raised without the visibility",
    overrides: { sweeper: { timeoutSeconds: 61 } },
    says: ['SWEEPER.visibilitySeconds is 360', 'SWEEPER.timeoutSeconds (61)', '366'],
  },
  {
    what: 'records that may grow as old as the stream keeps them',
    overrides: { reaper: { maxRecordAgeSeconds: DAY } },
    says: ['REAPER.maxRecordAgeSeconds is 86400', 'from 60 to 82800'],
  },
  {
    what: 'records that are tried for ever, which would hold up their shard',
    overrides: { reaper: { maxRetries: -1 } },
    says: ['REAPER.maxRetries is -1', 'from 0 to 10000'],
  },
  {
    what: 'more batches of one shard at once than Lambda runs',
    overrides: { reaper: { parallelizationFactor: 11 } },
    says: ['REAPER.parallelizationFactor is 11', 'from 1 to 10'],
  },
  {
    what: 'a larger batch of the stream than Lambda hands over',
    overrides: { reaper: { batchSize: 10_001 } },
    says: ['REAPER.batchSize is 10001', 'from 1 to 10000'],
  },
  {
    what: 'a batching window longer than Lambda waits',
    overrides: { reaper: { batchingWindowSeconds: 301 } },
    says: ['REAPER.batchingWindowSeconds is 301', 'from 0 to 300'],
  },
  {
    what: 'a failure queue that keeps longer than SQS offers',
    overrides: { reaper: { failureRetentionSeconds: 15 * DAY } },
    says: ['REAPER.failureRetentionSeconds is 1296000', 'to 1209600'],
  },
  {
    what: 'less memory for the reaper than Lambda has',
    overrides: { reaper: { memoryMiB: 64 } },
    says: ['REAPER.memoryMiB is 64', 'from 128'],
  },
  {
    what: 'a time-out of the reaper past what Lambda grants',
    overrides: { reaper: { timeoutSeconds: 901 } },
    says: ['REAPER.timeoutSeconds is 901', 'to 900'],
  },
  {
    what: 'less memory for the sweeper than Lambda has',
    overrides: { sweeper: { memoryMiB: 64 } },
    says: ['SWEEPER.memoryMiB is 64', 'from 128'],
  },
  {
    what: 'a page that is given up after fewer receives than AWS advises',
    overrides: { sweeper: { maxReceives: 4 } },
    says: ['SWEEPER.maxReceives is 4', 'from 5 to 1000'],
  },
  {
    what: 'a reserve that leaves the reaper no time for a slot',
    overrides: { reaper: { reserveMs: 60_000 } },
    says: ['REAPER.reserveMs is 60000', 'no slot would ever be begun', 'lower the reserve'],
  },
  {
    what: 'a reserve that leaves a page no time for a slot',
    overrides: { sweeper: { reserveMs: 60_000 } },
    says: ['SWEEPER.reserveMs is 60000', 'no slot would ever be begun'],
  },
  {
    what: 'failing slots that are left alone only after their page is given up',
    overrides: { sweeper: { tolerantFrom: 9 } },
    says: ['SWEEPER.tolerantFrom is 9', 'after 8 receives', 'would end every sweep'],
  },
  {
    what: 'an hour that no day has',
    overrides: { sweeper: { dailyHour: 24 } },
    says: ['SWEEPER.dailyHour is 24', 'from 0 to 23'],
  },
  {
    what: 'a minute that no hour has',
    overrides: { sweeper: { dailyMinute: 60 } },
    says: ['SWEEPER.dailyMinute is 60', 'from 0 to 59'],
  },
  {
    what: 'a lease that ends while its holder may still be at it',
    overrides: { scaler: { leaseSeconds: 59 } },
    says: ['SCALER.leaseSeconds is 59', 'SCALER.timeoutSeconds (55)', 'raise the lease to at least 60'],
  },
  {
    what: 'a tick that lasts into the next one',
    overrides: { scaler: { timeoutSeconds: 60 } },
    says: ['SCALER.timeoutSeconds is 60', 'SCALER.tickSeconds (60)', 'shorten the time-out'],
  },
  {
    what: 'ticks between minutes',
    overrides: { scaler: { tickSeconds: 90 } },
    says: ['SCALER.tickSeconds is 90', 'a multiple of 60'],
  },
  {
    what: 'a tick younger than Lambda keeps one',
    overrides: { scaler: { maxTickAgeSeconds: 59 } },
    says: ['SCALER.maxTickAgeSeconds is 59', 'from 60 to 21600'],
  },
  {
    what: 'less memory for the scaler than Lambda has',
    overrides: { scaler: { memoryMiB: 64 } },
    says: ['SCALER.memoryMiB is 64', 'from 128'],
  },
  {
    what: 'a reserve that leaves the scaler no time for a change',
    overrides: { scaler: { reserveMs: 55_000 } },
    says: ['SCALER.reserveMs is 55000', 'no change would ever be begun'],
  },
];

describe('refused', () => {
  test.each(REFUSED)('$what', ({ overrides, says }) => {
    const problems = settingProblems(settingsWith(overrides));
    expect(problems).toHaveLength(1);
    for (const part of says) {
      expect(problems[0]).toContain(part);
    }
  });

  test('a number that is none breaks every rule that asks for it', () => {
    const problems = settingProblems(settingsWith({ results: { retentionSeconds: Number.NaN } }));
    expect(problems).toEqual([expect.stringContaining('RESULTS.retentionSeconds is NaN')]);
  });

  test('all problems are named at once', () => {
    const broken = settingsWith({ applier: { batchSize: 0 }, queues: { planVisibilitySeconds: 30 } });
    expect(() => checkSettings(broken)).toThrow(SettingsError);
    expect(() => checkSettings(broken)).toThrow(/APPLIER\.batchSize[\s\S]*QUEUES\.planVisibilitySeconds/);
  });
});

describe('at the edge, still allowed', () => {
  const ALLOWED: readonly { what: string; overrides: SettingsOverrides }[] = [
    {
      what: 'a result that lasts exactly as long as its message',
      overrides: { results: { retentionSeconds: 16 * DAY } },
    },
    { what: 'receives that end a second before the retention', overrides: { queues: { planRetentionSeconds: 2701 } } },
    { what: 'six times the time-out', overrides: { queues: { planVisibilitySeconds: 180 } } },
    { what: 'a reserve just below the time-out', overrides: { applier: { reserveMs: 29_999 } } },
    { what: 'a batch of one', overrides: { applier: { batchSize: 1 } } },
    {
      what: 'six times the time-out of a page',
      overrides: { sweeper: { timeoutSeconds: 20, visibilitySeconds: 120 } },
    },
    { what: 'failing slots that are left alone at the last receive', overrides: { sweeper: { tolerantFrom: 8 } } },
    { what: 'a lease that outlives its holder by five seconds', overrides: { scaler: { leaseSeconds: 60 } } },
    {
      what: 'records that are given up an hour before the stream does',
      overrides: { reaper: { maxRecordAgeSeconds: 82_800 } },
    },
  ];
  test.each(ALLOWED)('$what', ({ overrides }) => {
    expect(settingProblems(settingsWith(overrides))).toEqual([]);
  });
});
