import { describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { exampleFacts } from '../testing/example-scene.ts';
import { type Count, gameCounts, tickCounts } from './counts.ts';
import type { Tick } from './deeds.ts';
import { scalerPage } from './page.ts';
import { momentOf } from './scene.ts';
import { scalerSummaryOf } from './summary.ts';
import { scalerTable } from './table.ts';
import { ticksByKind } from './ticks.ts';

/** Figures of one scene that somebody adds up, or looks up in both places. */

const facts = exampleFacts();
const summary = scalerSummaryOf(facts);
const [text, page] = [scalerTable(summary), scalerPage(summary, facts)];

const sumOf = (counts: readonly Count[]) => counts.reduce((sum, [, count]) => sum + count, 0);

test('every tick is in one line, and these add up to all', () => {
  const [all, ...kinds] = tickCounts(summary);
  expect(all?.[1]).toBe(facts.ticks.length);
  expect(sumOf(kinds)).toBe(facts.ticks.length);
});

test('every game is in one line, and these add up to those that began', () => {
  const [begun, ...others] = gameCounts(summary);
  expect(begun?.[1]).toBe(facts.games.length);
  expect(sumOf(others.slice(0, 4))).toBe(facts.games.length);
});

test.each<[part: string, counts: readonly Count[]]>([
  ['Games', gameCounts(summary)],
  ['Ticks', tickCounts(summary)],
])('%s: the page has the lines of the terminal, number by number', (part, counts) => {
  const told = text.slice(text.indexOf(`\n${part}\n`));
  const [, shown = ''] = page.split(`<h2>${part}</h2><table>`);
  for (const [name, count] of counts) {
    expect(told).toMatch(new RegExp(`\\n  ${name} +${count}(?: |\\n)`));
    expect(shown).toContain(`<tr><td>${name}</td><td class="number">${count}</td>`);
  }
});

describe('a tick', () => {
  const tick: Tick = { at: 0 as EpochMs, kubernetes: 4, aws: 2, dynamodb: 2, changes: [], events: 'none' };

  test.each<[kind: string, of: Partial<Tick>]>([
    ['idle', {}],
    ['busy', { changes: ['order 1'] }],
    ['twin', { events: 'twin', changes: ['order 1'] }],
    ['blind', { events: 'blind' }],
    ['killed', { events: 'killed', changes: ['order 1'] }],
    ['held', { kubernetes: 0 }],
    ['held', { kubernetes: 0, events: 'blind' }],
  ])('is %s with %j', (kind, of) => {
    const ticks = [{ ...tick, ...of }];
    const found = Object.entries(ticksByKind(ticks)).filter(([, some]) => some.length > 0);
    expect(found).toEqual([[kind, ticks]]);
  });
});

test('what happens just before a tick is of its minute, and what happens in it as well', () => {
  const at = Date.parse('2026-01-16T19:45:00Z') as EpochMs;
  expect([at - 1, at].map((shown) => momentOf(shown as EpochMs))).toEqual([at, at]);
});
