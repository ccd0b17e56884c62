import { describe, expect, it } from 'vitest';
import { PLATFORM } from '../../lib/settings.ts';
import { pageTasksOf, readPage } from './page-message.ts';

const PAGE = { apiVersion: 'berth/v1', kind: 'SweepPage', sweepId: 's1', reason: 'schedule' };

describe('a message of the sweep queue', () => {
  it('is the first page of a sweep where it says nothing else', () => {
    expect(readPage(JSON.stringify(PAGE))).toEqual({ page: { ...PAGE, page: 0 } });
  });

  it('says which service, which slots and where the page begins', () => {
    const page = { ...PAGE, reason: 'scaled-away', serviceId: 'web', slots: [[3, 9]], page: 4, cursor: '7' };
    expect(readPage(JSON.stringify(page))).toEqual({ page });
  });

  it('is what the schedule sends, once the time stands in it', () => {
    const sent = '{"apiVersion":"berth/v1","kind":"SweepPage","sweepId":"2026-03-01T03:17:00Z","reason":"schedule"}';
    expect(readPage(sent)).toMatchObject({ page: { sweepId: '2026-03-01T03:17:00Z', page: 0 } });
  });

  it('may begin at the longest of keys, which what is malformed can have', () => {
    const slotKey = '\u0001'.repeat(2048);
    const cursor = JSON.stringify({ slotKey, taskId: '\u0001'.repeat(1024), serviceId: slotKey });
    expect(readPage(JSON.stringify({ ...PAGE, page: 4, cursor }))).toMatchObject({ page: { cursor } });
  });

  const REFUSED: readonly { what: string; body: string; says: RegExp }[] = [
    { what: 'nothing', body: '', says: /^not JSON: / },
    { what: 'no JSON', body: '{"apiVersion":', says: /^not JSON: / },
    { what: 'no object', body: '[]', says: /^no page of a sweep: / },
    { what: 'a plan', body: JSON.stringify({ ...PAGE, kind: 'Plan' }), says: /kind: .*"SweepPage"/ },
    {
      what: 'a version to come',
      body: JSON.stringify({ ...PAGE, apiVersion: 'berth/v2' }),
      says: /apiVersion: .*"berth\/v1"/,
    },
    { what: 'an unknown reason', body: JSON.stringify({ ...PAGE, reason: 'whim' }), says: /reason: / },
    { what: 'no id', body: JSON.stringify({ ...PAGE, sweepId: '' }), says: /sweepId: / },
    { what: 'something unknown', body: JSON.stringify({ ...PAGE, force: true }), says: /force/ },
    { what: 'a page that is no number', body: JSON.stringify({ ...PAGE, page: '1' }), says: /page: / },
    { what: 'slots backwards', body: JSON.stringify({ ...PAGE, serviceId: 'web', slots: [[9, 3]] }), says: /slots/ },
    { what: 'more than fits', body: ' '.repeat(PLATFORM.messageBytes + 1), says: /longer than 1 MiB/ },
  ];

  it.each(REFUSED)('is refused with a reason if it holds $what', ({ body, says }) => {
    expect(readPage(body)).toEqual({ reason: expect.stringMatching(says) });
  });
});

describe('the tasks of a page', () => {
  it('are half as many at each receive, and never fewer than ten', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 50].map(pageTasksOf)).toEqual([1000, 500, 250, 125, 62, 31, 15, 10, 10]);
  });
});
