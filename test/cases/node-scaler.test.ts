import { describe, expect, it } from 'vitest';
import { PURE_WAY } from '../../cases/pure-way.ts';
import { casesIn, verdictOf } from '../support/case-suite.ts';

/** A copy of the cases that come with the specification. */
const CASES = casesIn('node-scaler.json');

it('has each case once', () => {
  const ids = CASES.map(({ id }) => id);
  expect(ids.length).toBe(new Set(ids).size);
  expect(ids.length).toBeGreaterThanOrEqual(79);
});

describe('through the pure code', () => {
  it.each(CASES.filter(({ content }) => content.callLevel !== true))('$id: $title', async (one) => {
    expect(await verdictOf(one, PURE_WAY)).toEqual([]);
  });
});

describe('the calls of one provider, which the pure code knows nothing of', () => {
  it.each(CASES.filter(({ content }) => content.callLevel === true))('$id is not covered', async (one) => {
    expect(await verdictOf(one, PURE_WAY)).toEqual(['not covered yet: the calls of one provider']);
  });
});
