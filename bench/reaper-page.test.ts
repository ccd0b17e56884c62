import { expect, it } from 'vitest';
import { reaperPage } from './reaper-page.ts';

it('draws the requests of each step against the tasks so far, beside the bound', () => {
  const page = reaperPage([
    { tasks: 1_600, requestsPerEnd: 1.01 },
    { tasks: 3_200, requestsPerEnd: 1.06 },
  ]);
  expect(page).toMatch(/^<!doctype html>/);
  expect(page).toContain('bound 2');
  expect(page).toContain('From 1.01 to 1.06 requests; at most 2 are allowed.');
  expect(page).toMatch(/3,200 tasks so far/);
  // It stands alone.
  expect(page).not.toMatch(/(src|href)=/);
});
