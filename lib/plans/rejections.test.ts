import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOW } from '../../test/support/builders.ts';
import { poolOf } from '../../test/support/plans.ts';
import type { NodeId } from '../ids.ts';
import type { Marks, TrackerSettings } from '../nodes/pool.ts';
import type { EpochMs } from '../time.ts';
import { type Counted, countRefusal, marksAt, type RejectionWindow, scoreOf } from './rejections.ts';

const DEFAULTS = poolOf('prod').settings.tracker;
const N1 = 'n1' as NodeId;
const at = (seconds: number) => (NOW + seconds * 1000) as EpochMs;

/** What comes of refusals at `seconds`, one after the other. */
function counting(seconds: readonly number[], settings: Partial<TrackerSettings> = {}, marks?: Marks) {
  let window: RejectionWindow | undefined;
  let left = marks;
  const counted: Counted[] = [];
  for (const second of seconds) {
    const one = countRefusal(N1, window, left, at(second), { ...DEFAULTS, ...settings });
    counted.push(one);
    window = one.window;
    left = one.marks;
  }
  return { counted, verdicts: counted.map(({ verdict }) => verdict), window, marks: left };
}

const times = (count: number, second = 0) => Array.from({ length: count }, () => second);

describe('a window', () => {
  it('holds the refusals of the last five minutes, both edges included', () => {
    const { window } = counting([0, 1, 300]);
    const score = (second: number) => scoreOf(window, at(second), DEFAULTS);
    expect([300, 301, 302, 600, 601].map(score)).toEqual([3, 2, 1, 1, 0]);
    expect(scoreOf(window, (at(300) + 1) as EpochMs, DEFAULTS)).toBe(2);
  });

  it('forgets what has left it when the next is counted, and lives as long as its last', () => {
    const { window } = counting([0, 10, 305]);
    expect(window).toEqual({
      nodeId: 'n1',
      times: [at(10), at(305)],
      version: 3,
      expiresAt: Math.floor(at(305) / 1000) + 301,
    });
  });

  it('counts a time to come, since a clock may step back', () => {
    const { counted } = counting([100, 0]);
    expect(counted.map(({ score }) => score)).toEqual([1, 2]);
  });

  it('that is not there is empty', () => {
    expect(scoreOf(undefined, NOW, DEFAULTS)).toBe(0);
  });

  it('stays bounded, however many refusals come in a pool whose marks are used up', () => {
    const none: Marks = { left: 0, at: at(0) };
    const many: RejectionWindow = { nodeId: N1, times: times(20_000).map(at), version: 1, expiresAt: 0 as never };
    const { window, verdict } = countRefusal(N1, many, none, at(0), { ...DEFAULTS, markRatePerSecond: 1e-9 });
    expect(window.times).toHaveLength(20_000);
    expect(verdict).toBe('withheld');
  });
});

describe('a node', () => {
  it('is marked by the hundredth refusal, not the ninety-ninth', () => {
    const { verdicts, counted } = counting(times(100));
    expect(verdicts.slice(0, 99).every((verdict) => verdict === 'counted')).toBe(true);
    expect(counted.at(-1)).toMatchObject({ verdict: 'marked', score: 100 });
  });

  it('starts afresh once it is marked', () => {
    const { verdicts, window } = counting(times(5), { threshold: 2 });
    expect(verdicts).toEqual(['counted', 'marked', 'counted', 'marked', 'counted']);
    expect(window?.times).toHaveLength(1);
  });

  it('is marked by every refusal at a threshold of one', () => {
    expect(counting(times(3), { threshold: 1 }).verdicts).toEqual(['marked', 'marked', 'marked']);
  });

  it('without a mark left is asked again at its next refusal, and marked as soon as there is one', () => {
    const settings = { threshold: 2, markBurst: 1, markRatePerSecond: 1 / 360 };
    const { verdicts } = counting([0, 0, 0, 0, 100, 360, 361], { ...settings, windowSeconds: 1000 });
    expect(verdicts).toEqual(['counted', 'marked', 'counted', 'withheld', 'withheld', 'marked', 'counted']);
  });

  it('keeps its window while it is withheld', () => {
    const { counted } = counting(times(4), { threshold: 2 }, { left: 0, at: at(0) });
    expect(counted.map(({ score }) => score)).toEqual([1, 2, 3, 4]);
    expect(counted.every(({ marks }) => marks?.left === 0)).toBe(true);
  });
});

describe('the marks of a pool', () => {
  it('are ten at first, and take one mark each', () => {
    expect(marksAt(undefined, NOW, DEFAULTS)).toBe(10);
    const { verdicts, marks } = counting(times(12), { threshold: 1 });
    expect(verdicts.filter((verdict) => verdict === 'marked')).toHaveLength(10);
    expect(verdicts.slice(10)).toEqual(['withheld', 'withheld']);
    expect(marks).toEqual({ left: 0, at: at(0) });
  });

  it('come back five in half an hour, ten at the most', () => {
    const none: Marks = { left: 0, at: at(0) };
    expect(
      [0, 360, 1800, 3600, 36_000].map((second) => Math.round(marksAt(none, at(second), DEFAULTS) * 1e9) / 1e9),
    ).toEqual([0, 1, 5, 10, 10]);
  });

  it('are no fewer when the clock steps back', () => {
    expect(marksAt({ left: 3, at: at(100) }, at(0), DEFAULTS)).toBe(3);
  });

  it.each([1, 2, 3, 7])('are there at the very second in which they are due: mark %d', (nth) => {
    const settings = { threshold: 1, markBurst: 1, windowSeconds: 1 };
    const due = Array.from({ length: nth + 1 }, (_, each) => each * 360);
    expect(counting(due, settings).verdicts).toEqual(due.map(() => 'marked'));
    const early = [...due.slice(0, -1), nth * 360 - 1];
    expect(counting(early, settings).verdicts.at(-1)).toBe('withheld');
  });

  it('are there when they are due although their rate cannot be written down exactly', () => {
    // 49 times 1/49 is 0.9999999999999999.
    const settings = { threshold: 1, markBurst: 1, windowSeconds: 1, markRatePerSecond: 1 / 49 };
    expect(counting([0, 48, 49, 97, 98], settings).verdicts).toEqual([
      'marked',
      'withheld',
      'marked',
      'withheld',
      'marked',
    ]);
  });

  it('never mark more than the burst and what has come back', () => {
    const steps = fc.array(fc.nat(2000), { maxLength: 40 });
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 3 }),
        (list, markBurst, threshold) => {
          let second = 0;
          const seconds = list.map((step) => (second += step));
          const { verdicts } = counting(seconds, { threshold, markBurst, windowSeconds: 86_400 });
          const marked = seconds.filter((_, nth) => verdicts[nth] === 'marked');
          for (const [from, first] of marked.entries()) {
            for (const [to, last] of marked.entries()) {
              if (to >= from)
                expect(to - from + 1).toBeLessThanOrEqual(
                  markBurst + (last - first) * DEFAULTS.markRatePerSecond + 1e-6,
                );
            }
          }
        },
      ),
    );
  });
});
