import { describe, expect, test } from 'vitest';
import type { Violation } from '../invariants/history.ts';
import { exampleReplay, exampleRun } from '../testing/example-run.ts';
import { reportPage } from './page.ts';
import { summaryTable } from './summary-table.ts';

const violation: Violation = { invariant: 1, where: 'node-001', message: 'cpu is overcommitted: -500 free' };
const broken = {
  1: { checked: 900, violations: Array.from({ length: 60 }, () => violation) },
  2: { checked: 400, violations: [] },
  3: { checked: 300, violations: [] },
  4: { checked: 150, violations: [] },
};

describe('the summary', () => {
  const { summary } = exampleRun();

  test('counts plans, refusals and reasons, and says what a plan and a placement cost', () => {
    expect(summary.plans).toEqual({ applied: 90, partial: 30, rejected: 30, invalid: 0, expired: 0 });
    expect(Object.keys(summary.refusals)[0]).toBe('cpu');
    expect(Object.values(summary.refusals).reduce((sum, count) => sum + count, 0)).toBe(60);
    expect(summary.tasks.neverPlaceable[0]).toEqual({
      reason: 'needs a GPU of model H100, no node has it',
      tasks: 2,
      example: 'task-0249',
    });
    expect(summary.dynamodb).toMatchObject({
      requests: 63,
      reads: 3,
      writeUnits: 1_950,
      cancelled: 20,
      requestsPerPlan: 0.42,
    });
    expect(summary.dynamodb.writeUnitsPerPlacement).toBeCloseTo(6.5);
    expect(summary.replay).toMatchObject({ seconds: 20, plansPerSecond: 7.5, placementsPerSecond: 15 });
    expect(summary.exitStatus).toBe(0);
  });

  test('of a run in which nothing happened divides by nothing', () => {
    const replay = { ...exampleReplay(), allocations: [], plans: [], placed: 0, elapsedMs: 0 };
    const { facts, summary: empty } = exampleRun({ replay, usage: {} });
    expect(JSON.stringify(empty)).not.toContain('null');
    expect(reportPage(empty, facts.replay, facts.workload)).not.toContain('NaN');
  });

  test('is JSON whose fields are those that it promises', () => {
    expect(Object.keys(JSON.parse(JSON.stringify(summary)))).toEqual([
      'apiVersion',
      'kind',
      'workload',
      'tasks',
      'plans',
      'refusals',
      'replay',
      'dynamodb',
      'uncontended',
      'invariants',
      'exitStatus',
    ]);
  });

  test('has exit status 1 when an invariant is broken, and when a bound is', () => {
    expect(exampleRun({ findings: broken }).summary.exitStatus).toBe(1);
    const uncontended = { ...exampleRun().facts.uncontended, requestsPerPlan: 0.3, withinBounds: false };
    expect(exampleRun({ uncontended }).summary.exitStatus).toBe(1);
  });
});

describe('the table', () => {
  test('is aligned, its numbers at the right', () => {
    const lines = summaryTable(exampleRun().summary).split('\n');
    expect(lines[0]).toBe('Tasks');
    const rows = ['placed', 'applied', 'write units', 'requests a plan', 'requests'].map((name) =>
      lines.find((line) => line.startsWith(`  ${name} `)),
    );
    expect(rows).toEqual([
      '  placed                     300  17 of them waited for room',
      '  applied                     90  by 4 workers in 20 s',
      '  write units              1,950  13 a plan, 6.5 a placement',
      '  requests a plan            0.2  at most 0.25',
      '  requests                    63  0.42 a plan, 0.21 a placement',
    ]);
    expect(lines.filter((line) => /^ {2}\d\. .* holds /.test(line))).toHaveLength(4);
    expect(lines.every((line) => line === line.trimEnd())).toBe(true);
  });

  test('lists what is broken, of much a part', () => {
    const table = summaryTable(exampleRun({ findings: broken }).summary);
    expect(table).toContain('  1. no overcommit         BROKEN  60 broken of 900 checked');
    expect(table).toContain('Invariant 1, no overcommit, is broken:\n  node-001: cpu is overcommitted: -500 free');
    expect(table).toMatch(/\n {2}and 10 more$/);
  });

  test('says which bound is broken', () => {
    const uncontended = { ...exampleRun().facts.uncontended, writeUnitsPerPlacement: 7.2, withinBounds: false };
    expect(summaryTable(exampleRun({ uncontended }).summary)).toMatch(
      /write units a placement +7.2 {2}at most 7: BROKEN/,
    );
  });
});

describe('the page', () => {
  const { facts, summary } = exampleRun();
  const page = reportPage(summary, facts.replay, facts.workload);

  test('stands alone: no script, and nothing that is loaded from elsewhere', () => {
    expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|https?:/i);
    expect(page.match(/<svg /g)).toHaveLength(5);
    expect(page).toContain('prefers-color-scheme: dark');
  });

  test('has the course of cpu, memory and GPUs with their peaks, plans and refusals', () => {
    expect(page).toMatch(/cpu <small>peak [\d.]+ % of 8,944 cores/);
    expect(page).toMatch(/memory <small>peak [\d.]+ % of [\d,]+ GiB/);
    expect(page).toMatch(/GPU <small>peak [\d.]+ % of 402 GPUs/);
    expect(page).toContain('applied <small>90</small>');
    expect(page).toContain('gpu-milli <small>16</small>');
    expect(page).toContain('others <small>7</small>');
  });

  test('each id is there once, and every element is closed', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const open: string[] = [];
    for (const [, closing, name = '', own] of page
      .replace(/<style>[\s\S]*?<\/style>/, '')
      .matchAll(/<(\/?)([a-z0-9]+)[^>]*?(\/?)>/g)) {
      if (own === '/' || name === 'meta') continue;
      if (closing === '/') expect(open.pop()).toBe(name);
      else open.push(name);
    }
    expect(open).toEqual([]);
  });

  test('what a file is called or a task is named cannot add markup', () => {
    const workload = { ...facts.workload, source: '<script>alert(1)</script>.csv' };
    const evil = exampleRun({ workload, unplaceable: [] });
    expect(reportPage(evil.summary, facts.replay, workload)).toContain('&lt;script&gt;alert(1)&lt;/script&gt;.csv');
  });

  test('leaves out a long lead-in with next to nothing in it, and says so', () => {
    const replay = exampleReplay();
    const early = { at: 0, cpuMilli: 1, memoryMib: 1, gpuMilli: 0, running: 1, waiting: 0, placed: 2 };
    const late = replay.allocations.map((allocation) => ({
      ...allocation,
      at: allocation.at + 100 * 86_400,
      placed: allocation.placed + 10,
    }));
    const text = reportPage(summary, { ...replay, allocations: [early, ...late] }, facts.workload);
    expect(text).toContain('; the 100 days before, with 2 tasks in them, are left out');
  });
});
