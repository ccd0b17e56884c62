import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SHORT_SCENE } from '../testing/example-scene.ts';
import { scalerDemo } from './demo.ts';
import type { ScalerSummary } from './summary.ts';

/** A whole scene, with the bundle of the function and everything outside of it. */

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-scaler-demo-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('a pool grows and shrinks through everything that happens to it, and costs no game', {
  timeout: 240_000,
}, async () => {
  const output = new PassThrough();
  const file = (name: string) => join(folder, name);
  const [json, report, kubeconfig] = [file('s.json'), file('s.html'), file('kubeconfig')];
  const options = { kind: 'scaler', seed: 1, quiet: true, json, report, kubeconfig } as const;
  const run = { output: output as unknown as NodeJS.WriteStream, clock: () => performance.now() };
  const { signal } = new AbortController();
  const status = await scalerDemo({ ...options, ...run, signal, scene: SHORT_SCENE });
  const summary = JSON.parse(await readFile(json, 'utf8')) as ScalerSummary;
  expect(summary.problems).toEqual([]);
  expect(status).toBe(0);
  expect(summary).toMatchObject({
    nodes: { start: { active: 2 }, peak: { active: 5 }, end: { active: 2, held: 1 } },
    games: { endedByBerth: 0 },
    machines: { ordered: expect.any(Number), lost: 1 },
    operatorsNode: { touched: 0, stillCordoned: true },
    ticks: { all: 80, twin: 1, blind: 2, killed: 1, held: 1 },
  });
  expect(summary.machines.ended).toBeGreaterThanOrEqual(3);
  expect(summary.races.won).toBeGreaterThan(0);
  const [failed] = summary.machines.gone.filter(({ by }) => by === 'failure');
  const loss = summary.incidents.find(({ kind }) => kind === 'loss');
  expect(loss?.at).toBe(failed?.lastGameEndedAt);
  expect(new Set(summary.incidents.map(({ kind }) => kind)).size).toBe(8);
  // An invariant that nothing was looked at for would hold of itself.
  expect(summary.invariants.filter(({ checked }) => checked === 0).map(({ id }) => id)).toEqual([]);
  expect(await readFile(report, 'utf8')).toContain('A pool from 2 nodes to 5 and back');
  expect(await readFile(kubeconfig, 'utf8')).toContain('certificate-authority-data');
  expect((await stat(kubeconfig)).mode & 0o077).toBe(0);
  expect(String(output.read())).toContain('Invariants');
});
