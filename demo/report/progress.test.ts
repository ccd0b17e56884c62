import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { Progress } from '../run/replay.ts';
import { progressDisplay } from './progress.ts';

const PROGRESS: Progress = {
  tasks: 2_000,
  now: 90_000,
  placed: 1_200,
  ended: 800,
  waiting: 3,
  plans: 100,
  refusals: 7,
};

function display(terminal: boolean, quiet = false) {
  const output = Object.assign(new PassThrough(), {
    isTTY: terminal,
    columns: 120,
    cursorTo: () => true,
    clearLine: () => true,
    moveCursor: () => true,
  });
  let now = 0;
  const pass = (ms: number) => {
    now += ms;
  };
  const shown = progressDisplay({
    output: output as unknown as NodeJS.WriteStream,
    quiet,
    clock: () => now,
  });
  return { shown, pass, text: () => String(output.read() ?? '') };
}

test('without a terminal a line every few seconds', () => {
  const { shown, pass, text } = display(false);
  shown.step('replaying');
  for (let at = 0; at < 12; at += 1) {
    shown.progress({ ...PROGRESS, plans: at * 10 });
    pass(1_000);
  }
  shown.end();
  expect(text().split('\n')).toEqual([
    'replaying',
    'day 1, 01:00: 1,200 placed, 800 ended of 2,000, 0 plans a second',
    'day 1, 01:00: 1,200 placed, 800 ended of 2,000, 10 plans a second',
    'day 1, 01:00: 1,200 placed, 800 ended of 2,000, 10 plans a second',
    '',
  ]);
});

test('on a terminal a bar, which is put away at the end', () => {
  const { shown, text } = display(true);
  shown.progress(PROGRESS);
  shown.end();
  shown.end();
  expect(text()).toContain('50% | 1,200 placed, 800 ended of 2,000 | day 1, 01:00 |');
});

test('quiet: nothing at all', () => {
  const { shown, text } = display(true, true);
  shown.step('starting');
  shown.progress(PROGRESS);
  shown.end();
  expect(text()).toBe('');
});
