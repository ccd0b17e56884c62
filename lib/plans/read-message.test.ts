import { describe, expect, it } from 'vitest';
import { SENT_AT } from '../../test/support/plans.ts';
import { readMessage } from './read-message.ts';

const plan = {
  planId: 'p1',
  pool: 'prod',
  placements: [{ taskId: 't1', serviceId: 'web', slot: 1, nodeId: 'n1', resources: { cpu: 1 } }],
};

const read = (body: string, group = 'prod') => readMessage({ body, group, sentAt: SENT_AT });
const readValue = (value: unknown, group?: string) => read(JSON.stringify(value), group);
function fingerprint(body: string): string {
  const message = read(body);
  return 'fingerprint' in message ? message.fingerprint : 'unusable';
}

describe('a message', () => {
  it('that is a plan is delivered as one, to the pool of its group', () => {
    expect(readValue(plan)).toMatchObject({
      planId: 'p1',
      pool: 'prod',
      receivedAt: SENT_AT,
      content: { plan: { planId: 'p1' } },
    });
  });

  it.each([
    ['', 'the message is not JSON; a plan is one JSON object'],
    ['{"planId":"p1"', 'the message is not JSON; a plan is one JSON object'],
    ['planId: p1', 'the message is not JSON; a plan is one JSON object'],
    ["{'planId':'p1'}", 'the message is not JSON; a plan is one JSON object'],
    ['{"planId":"p1"} {"planId":"p2"}', 'the message is not JSON; a plan is one JSON object'],
    ['null', 'the message is null; a plan is one JSON object'],
    ['7', 'the message is 7; a plan is one JSON object'],
    ['"p1"', 'the message is "p1"; a plan is one JSON object'],
    ['[{"planId":"p1"}]', 'the message is a list of 1; a plan is one JSON object'],
    ['{}', 'planId is missing; without an id no result could be stored'],
    ['{"pool":"prod"}', 'planId is missing; without an id no result could be stored'],
    ['{"planId":null}', 'planId is null; without an id no result could be stored'],
    ['{"planId":7}', 'planId is 7; without an id no result could be stored'],
    ['{"planId":""}', 'planId is ""; without an id no result could be stored'],
    ['{"planId":"a b"}', 'planId is "a b"; without an id no result could be stored'],
    ['{"planId":{"planId":"p1"}}', 'planId is an object; without an id no result could be stored'],
    ['{"__proto__":{"planId":"p1"}}', 'planId is missing; without an id no result could be stored'],
  ])('of %j is unusable, and says why', (body, reason) => {
    expect(read(body)).toEqual({ reason });
  });

  it('with a plan id ends as a result, whatever else is wrong with it', () => {
    expect(readValue({ planId: 'p1' })).toMatchObject({
      planId: 'p1',
      pool: 'prod',
      content: { problems: [{ path: 'pool' }] },
    });
    expect(readValue({ planId: 'p1', pool: 'test' })).toMatchObject({
      pool: 'prod',
      content: { problems: [{ path: 'pool' }] },
    });
  });

  it('is read up to 1 MiB of bytes, and not one more', () => {
    const padded = (bytes: number, filler: string) => {
      const frame = JSON.stringify({ planId: 'p1', pool: 'prod', x: '' });
      return frame.replace('""', `"${filler.repeat((bytes - Buffer.byteLength(frame)) / Buffer.byteLength(filler))}"`);
    };
    expect(read(padded(1_048_576, 'x'))).toMatchObject({ planId: 'p1' });
    expect(read(padded(1_048_577, 'x'))).toEqual({ reason: 'the message is longer than 1048576 bytes' });
    // Fewer characters, more bytes.
    expect(read(padded(1_048_576 + 4, '😀'.repeat(1)).slice(0))).toEqual({
      reason: 'the message is longer than 1048576 bytes',
    });
  });

  it('that names a field twice means the last, as JSON.parse has it', () => {
    expect(read('{"planId":"p1","pool":"test","pool":"prod","planId":"p2"}')).toMatchObject({
      planId: 'p2',
      content: { plan: { pool: 'prod' } },
    });
  });
});

describe('the fingerprint', () => {
  it('is the same for the same plan, whatever its spaces and the order of its names', () => {
    const body = JSON.stringify(plan);
    const turned = JSON.stringify({ placements: plan.placements, pool: 'prod', planId: 'p1' }, null, 2);
    expect(fingerprint(turned)).toBe(fingerprint(body));
  });

  it.each([
    { ...plan, priority: 1 },
    { ...plan, planId: 'p2' },
    { ...plan, placements: [] },
    { ...plan, placements: [{ ...plan.placements[0], resources: { cpu: 2 } }] },
  ])('is another for another plan', (other) => {
    expect(fingerprint(JSON.stringify(other))).not.toBe(fingerprint(JSON.stringify(plan)));
  });

  it('tells what is no plan by its text', () => {
    expect(fingerprint('{"planId":"p1"}')).toBe(fingerprint('{"planId":"p1"}'));
    expect(fingerprint('{"planId":"p1"}')).not.toBe(fingerprint('{"planId":"p1" }'));
  });
});
