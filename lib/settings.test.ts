import { describe, expect, it } from 'vitest';
import { APPLIER, BOUNDS, PLATFORM, QUEUES, RESULTS } from './settings.ts';

describe('the settings', () => {
  it('keep a result longer than any message of its plan can live, so that none takes effect again', () => {
    const DAY = 86_400;
    expect(QUEUES.planRetentionSeconds + QUEUES.deadLetterRetentionSeconds).toBe(15 * DAY);
    expect(RESULTS.retentionSeconds).toBeGreaterThan(QUEUES.planRetentionSeconds + QUEUES.deadLetterRetentionSeconds);
    expect(RESULTS.retentionSeconds).toBe(16 * DAY);
  });

  it('hide a message for six times as long as the function may take', () => {
    expect(QUEUES.planVisibilitySeconds).toBe(6 * APPLIER.timeoutSeconds);
  });

  it('leave time in an invocation to stop before it is stopped', () => {
    expect(APPLIER.reserveMs).toBeGreaterThan(APPLIER.abortMs);
    expect(APPLIER.reserveMs).toBeLessThan(APPLIER.timeoutSeconds * 1000);
    expect(APPLIER.backoffCapMs).toBeLessThan(APPLIER.reserveMs);
  });

  it('allow more entries in a list than a message can hold', () => {
    const shortest = '{"taskId":"a","serviceId":"b","nodeId":"c"},';
    // Ids of one character are 63; all others take two at least.
    expect(BOUNDS.entriesPerList * shortest.length).toBeGreaterThan(PLATFORM.messageBytes);
  });

  it('keep an invalid result below the largest item', () => {
    expect(2 * (RESULTS.maxProblems + 1) * RESULTS.maxMessageLength * 3).toBeLessThan(PLATFORM.itemBytes);
  });
});
