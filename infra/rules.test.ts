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
  ];
  test.each(ALLOWED)('$what', ({ overrides }) => {
    expect(settingProblems(settingsWith(overrides))).toEqual([]);
  });
});
