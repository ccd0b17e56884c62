import { expect, test } from 'vitest';
import { exampleFacts } from '../testing/example-scene.ts';
import { scalerPage } from './page.ts';
import { scalerSummaryOf } from './summary.ts';

const facts = exampleFacts();
const page = scalerPage(scalerSummaryOf(facts), facts);

test('has the charts with words for who cannot see, every incident with its sign, and loads nothing', () => {
  for (const id of ['nodes', 'servers', 'requests']) {
    expect(page).toContain(`aria-labelledby="${id}-title ${id}-desc"`);
    expect(page).toMatch(new RegExp(`<desc id="${id}-desc">[^<]{20,}</desc>`));
  }
  expect(page.match(/class="sign"/g)).toHaveLength(facts.incidents.length);
  expect(page).toContain('<path class="line target"');
  expect(page).toContain('<path class="stack draining"');
  expect(page).not.toMatch(/<script|<link|https?:|src=/);
});

test('has a style for each tone that it draws', () => {
  for (const [, tone] of page.matchAll(/class="stack (\w+)"/g)) expect(page).toContain(`.chart .stack.${tone},`);
});

test('names each machine that went, with its times, and escapes what it is told', () => {
  expect(page).toContain(
    '<tr><td>n4</td><td class="time">16:50</td><td class="time">16:49</td><td class="time">16:51</td><td class="number">0</td><td>ended by Berth</td></tr>',
  );
  expect(page).toContain('just before &lt;it&gt; goes');
  expect(page).not.toContain('<it>');
});

test('tells what is broken', () => {
  const deeds = facts.deeds.map((deed) => ({ ...deed, games: 3 }));
  const bad = { ...facts, deeds };
  const told = scalerPage(scalerSummaryOf(bad), bad);
  expect(told).toContain('n4 ended with 3 games');
  expect(told).toContain('Not as it has to be');
  expect(told).toContain('<li class="bad"><strong>4</strong><span>broken invariants</span>');
  expect(page).not.toContain('Not as it has to be');
});
