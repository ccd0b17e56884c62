import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planSchema } from '../../lib/plans/plan.ts';
import { SCHEMA_FILES, schemaText } from './schemas.ts';

const published = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

describe('the JSON Schemas under docs/schemas', () => {
  it.each(SCHEMA_FILES)('%s is what the code validates by: `npm run schemas` writes it anew', (name, file) => {
    expect(published(file)).toBe(schemaText(name));
  });
});

/** A plan in which everything is right. */
const PLAN = {
  apiVersion: 'berth/v1',
  planId: 'p1',
  pool: 'prod',
  priority: 50,
  notAfter: '2027-01-01T00:00:00Z',
  placements: [
    {
      taskId: 't1',
      serviceId: 'web',
      slot: 3,
      nodeId: 'n1',
      resources: { cpu: 500, 'gpu-milli/0': 460 },
      ports: [{ ip: '10.0.0.5', value: 8080, label: 'http', ignoreCollision: false }],
      cores: [0],
      devices: ['nvidia/gpu/1080ti/gpu-0'],
      volumes: [{ source: 'data', mode: 'single-writer' }],
      jobIteration: 0,
    },
  ],
  stops: [{ taskId: 't2', serviceId: 'web', nodeId: 'n1', desiredState: 'remove' }],
  preemptions: [{ taskId: 't3', serviceId: 'batch', slot: 7, nodeId: 'n1', preemptedBy: 't1' }],
};

type Path = readonly (string | number)[];

/** Every place in `value`. */
function placesIn(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...at, key]))];
}

/** `value` with what stands at `path` replaced, or taken out if it is replaced by undefined. */
function replaced(value: unknown, [first, ...rest]: Path, by: unknown): unknown {
  if (first === undefined) return by;
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...(value as object) };
  const inner = replaced((copy as Record<string, unknown>)[String(first)], rest, by);
  if (inner === undefined && !Array.isArray(copy)) delete (copy as Record<string, unknown>)[String(first)];
  else (copy as Record<string, unknown>)[String(first)] = inner;
  return copy;
}

const strange = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    '',
    'a b',
    '#',
    -1,
    1.5,
    65_536,
    2 ** 53,
    [],
    {},
    true,
    'n1',
    7,
    { unknown: 1 },
    [-1],
    [''],
  ),
  fc.string(),
  fc.integer(),
  fc.dictionary(fc.string(), fc.integer()),
);

describe('plan.schema.json', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(JSON.parse(published('docs/schemas/plan.schema.json')));

  it('takes a plan in which everything is right', () => {
    expect(validate(PLAN)).toBe(true);
    expect(planSchema.safeParse(PLAN).success).toBe(true);
  });

  it('takes and refuses what the applier takes and refuses, whatever is put in whatever place', () => {
    const input = fc.record({ path: fc.constantFrom(...placesIn(PLAN)), by: strange });
    fc.assert(
      fc.property(input, ({ path, by }) => {
        const plan = JSON.parse(JSON.stringify(replaced(PLAN, path, by) ?? null)) as unknown;
        expect(validate(plan)).toBe(planSchema.safeParse(plan).success);
      }),
      { numRuns: 2_000 },
    );
  });
});
