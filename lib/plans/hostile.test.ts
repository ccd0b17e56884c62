import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SENT_AT } from '../../test/support/plans.ts';
import { PLATFORM, RESULTS } from '../settings.ts';
import type { Delivery } from './delivery.ts';
import { readMessage } from './read-message.ts';

/** What nobody sends by mistake. Whatever comes, a message ends as a plan, as problems that fit an item, or unusable. */

const read = (body: string) => readMessage({ body, group: 'prod', sentAt: SENT_AT });

function problems(body: string): readonly { path: string; message: string }[] {
  const message = read(body);
  if ('reason' in message) throw new Error(`unusable: ${message.reason}`);
  return 'problems' in message.content ? message.content.problems : [];
}

/** `head`, then as many of `unit` as 1 MiB holds, then `tail`. */
function filled(head: string, unit: string, tail: string): string {
  const count = Math.floor((PLATFORM.messageBytes - head.length - tail.length) / (unit.length + 1));
  return `${head}${Array(count).fill(unit).join(',')}${tail}`;
}

const nested = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`;
const HEAD = '{"planId":"p1","pool":"prod",';
const task = (more: string) => `{"taskId":"t1","serviceId":"web","nodeId":"n1",${more}}`;
const placing = (more: string) => `${HEAD}"placements":[${task(more)}]}`;

describe('a message of 1 MiB', () => {
  const bodies: readonly (readonly [what: string, body: string])[] = [
    ['lists in lists in a field that nobody knows', `${HEAD}"x":${nested('[', ']', 200_000)}}`],
    ['objects in objects where an amount is expected', placing(`"resources":{"cpu":${nested('{"a":', '}', 170_000)}}`)],
    ['lists in lists where a list is expected', `${HEAD}"placements":${nested('[', ']', 200_000)}}`],
    ['numbers for placements', filled(`${HEAD}"placements":[`, '1', ']}')],
    ['empty placements', filled(`${HEAD}"placements":[`, '{}', ']}')],
    ['empty stops, few enough for a list', `${HEAD}"stops":[${Array(23_000).fill('{}').join(',')}]}`],
    [
      'placements with wrong ports',
      filled(`${HEAD}"placements":[`, `{"ports":[${Array(64).fill('{}').join(',')}]}`, ']}'),
    ],
    ['one placement of wrong ports', filled(`${HEAD}"placements":[{"ports":[`, '1', ']}]}')],
    [
      'resources with wrong names',
      `${HEAD}"placements":[{"resources":{${Array.from({ length: 90_000 }, (_, n) => `"#${n}":1`).join(',')}}}]}`,
    ],
    ['fields that nobody knows', `${HEAD}${Array.from({ length: 90_000 }, (_, n) => `"x${n}":1`).join(',')}}`],
    ['one task, over and over', filled(`${HEAD}"placements":[`, task('"slot":1'), ']}')],
    ['a long text', placing(`"devices":["${'x'.repeat(1_000_000)}"]`)],
    ['a long name', placing(`"resources":{"${'x'.repeat(1_000_000)}":1}`)],
    ['half of a character, over and over', placing(`"devices":["${'\\ud800'.repeat(170_000)}"]`)],
    ['many digits', placing(`"resources":{"cpu":${'9'.repeat(1_000_000)}}`)],
  ];

  it.each(bodies)('of %s ends as problems that fit an item', (_what, body) => {
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(PLATFORM.messageBytes);
    const found = problems(body);
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThanOrEqual(RESULTS.maxProblems + 1);
    for (const { path, message } of found) {
      expect(path.length).toBeLessThanOrEqual(RESULTS.maxMessageLength);
      expect(message.length).toBeLessThanOrEqual(RESULTS.maxMessageLength);
    }
  });

  it.each([
    ['nonsense', 'x'.repeat(PLATFORM.messageBytes)],
    ['digits', '9'.repeat(PLATFORM.messageBytes)],
    ['brackets that are never closed', '['.repeat(PLATFORM.messageBytes)],
    ['lists in lists', nested('[', ']', 200_000)],
    ['a plan id', `{"planId":"${'a'.repeat(1_000_000)}"}`],
  ])('of %s is unusable, and says so briefly', (_what, body) => {
    const message = read(body);
    expect('reason' in message && message.reason.length).toBeLessThan(200);
  });

  it('may be ten thousand placements', () => {
    const placements = Array.from({ length: 10_000 }, (_, slot) => ({
      taskId: `t${slot}`,
      serviceId: 'web',
      slot,
      nodeId: `n${slot % 500}`,
      resources: { cpu: 1 },
    }));
    expect(problems(JSON.stringify({ planId: 'p1', pool: 'prod', placements }))).toEqual([]);
  });
});

describe('names that objects inherit', () => {
  it('are no way to reach what all objects share', () => {
    read(placing('"resources":{"__proto__":{"polluted":1}},"__proto__":{"polluted":1}'));
    read(`${HEAD}"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}`);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it.each(['__proto__', 'constructor', 'toString'])('are unknown fields like any other: %s', (name) => {
    expect(problems(`${HEAD}"${name}":{}}`)).toMatchObject([{ path: name }]);
    expect(problems(placing(`"${name}":{}`))).toMatchObject([{ path: `placements[0].${name}` }]);
  });

  it('do not stand in for fields that are missing', () => {
    expect(problems('{"planId":"p1","__proto__":{"pool":"prod"}}').map(({ path }) => path)).toEqual([
      'pool',
      '__proto__',
    ]);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('are good ids: %s', (id) => {
    const entry = { taskId: id, serviceId: id, nodeId: id };
    const message = readMessage({
      body: JSON.stringify({ planId: id, pool: id, evalId: id, placements: [entry] }),
      group: id,
      sentAt: SENT_AT,
    });
    expect((message as Delivery).content).toMatchObject({ plan: { planId: id, placements: [entry] } });
  });
});

describe('numbers', () => {
  it.each(['1e400', '-1e400', '9007199254740992', '9007199254740993', '1e16', '-1', '0.5', '1e-7'])(
    '%s is no amount',
    (number) => {
      expect(problems(placing(`"resources":{"cpu":${number}}`))).toMatchObject([
        { path: 'placements[0].resources.cpu' },
      ]);
    },
  );

  it.each([
    ['-0', 0],
    ['0e9', 0],
    ['1.0', 1],
    ['1e3', 1000],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('%s is one', (number, amount) => {
    const message = read(placing(`"resources":{"cpu":${number}}`)) as Delivery;
    expect('plan' in message.content && message.content.plan.placements[0]?.resources.cpu === amount).toBe(true);
  });
});

describe('anything at all', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.json(),
    fc.jsonValue().map((value) => JSON.stringify({ planId: 'p1', pool: 'prod', placements: [value], stops: value })),
    fc
      .dictionary(
        fc.constantFrom('planId', 'pool', 'placements', 'stops', 'preemptions', 'notAfter', '__proto__', 'x'),
        fc.jsonValue(),
      )
      .map((fields) => JSON.stringify({ planId: 'p1', ...fields })),
  );

  it('is read the same way twice, as something that can be stored', () => {
    fc.assert(
      fc.property(anything, (body) => {
        const message = read(body);
        expect(read(body)).toEqual(message);
        const stored = Buffer.from(JSON.stringify(message)).toString();
        expect(JSON.stringify(message)).toBe(stored);
        // What cannot be encoded would come out as an escape.
        expect(stored).not.toMatch(/\\ud[89a-f]/i);
      }),
      { numRuns: 500 },
    );
  });
});
