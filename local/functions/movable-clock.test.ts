import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { FunctionRunner } from './function-runner.ts';
import { MovableClock } from './movable-clock.ts';
import { writeWorkerScript } from './worker-script.ts';

const BUNDLE = `export const handler = async (event, context) => ({
  now: Date.now(), bare: new Date().getTime(), given: new Date(5).getTime(), left: context.getRemainingTimeInMillis(),
  isDate: new Date() instanceof Date,
});`;

let directory: string;
let runner: FunctionRunner;
const clock = new MovableClock();

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-clock-'));
  const bundle = join(directory, 'index.mjs');
  writeFileSync(bundle, BUNDLE);
  const named = { name: 'Clocked', functionName: 'clocked', arn: 'arn:clocked', handler: 'index.handler' };
  const definition = { ...named, bundle, timeoutMs: 20_000, memoryMiB: 128, environment: {} };
  runner = new FunctionRunner(definition, {
    script: writeWorkerScript(directory),
    clock,
    maxConcurrency: 1,
    onOutput: () => undefined,
  });
});

afterAll(async () => {
  await runner.killAll();
  rmSync(directory, { recursive: true, force: true });
});

async function seen(): Promise<{ now: number; bare: number; given: number; left: number; isDate: boolean }> {
  const result = await runner.invoke({});
  if (result.status !== 'returned') throw new Error(result.error.errorMessage);
  return JSON.parse(result.payload);
}

test('a function sees the time that is set, in a warm environment too, and no other effect of it', async () => {
  const before = Date.now();
  expect((await seen()).now).toBeGreaterThanOrEqual(before);
  clock.set(1_000 as EpochMs);
  expect(await seen()).toMatchObject({ now: 1_000, bare: 1_000, given: 5, isDate: true });
  clock.set(999 as EpochMs);
  const { now, left } = await seen();
  expect(now).toBe(999);
  // What is left of the invocation goes by the engine's time.
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(20_000);
  clock.set(undefined);
  expect((await seen()).now).toBeGreaterThanOrEqual(before);
});
