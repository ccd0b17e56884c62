import { expect, test } from 'vitest';
import { readableLine } from './readable-line.ts';

const OF_EVERY_LINE = { timestamp: '2026-01-15T12:00:00.000Z', service: 'node-scaler', sampling_rate: '0' };

test('a line of the logger is shown as level, message and its own fields', () => {
  const fields = { cluster: 'us-east-1/local', target: 3, detail: 'no room: "max"', deeds: { cordoned: 1 }, empty: '' };
  const line = JSON.stringify({ level: 'WARN', message: 'pool changed', ...OF_EVERY_LINE, ...fields });
  expect(readableLine(line)).toBe(
    String.raw`WARN pool changed cluster=us-east-1/local target=3 detail="no room: \"max\"" deeds={"cordoned":1} empty=""`,
  );
});

test.each(['plain text', '{"level":"INFO"}', '{"message":"m"}', '{ cut off', '["level","message"]'])(
  '%s is shown as it is',
  (line) => {
    expect(readableLine(line)).toBe(line);
  },
);

test('metrics are not shown', () => {
  expect(readableLine('{"_aws":{"Timestamp":1},"service":"node-scaler","scaler.target":3}')).toBeUndefined();
});
