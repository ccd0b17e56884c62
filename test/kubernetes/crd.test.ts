import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { cronTimes } from '../../lib/cron/croner.ts';
import { type GameServerNodeSpec, type Override, readSpec, type Schedule } from '../../lib/scaler/spec/spec.ts';
import type { StatusJson } from '../../lib/scaler/tell/status-json.ts';
import { type Crd, manifest, type Schema } from './manifests.ts';

const [crd] = manifest<Crd>('crd.yaml') as [Crd];
const [version, ...versions] = crd.spec.versions;
const root = version?.schema.openAPIV3Schema ?? {};
const specSchema = root.properties?.spec ?? {};
const statusSchema = root.properties?.status ?? {};

const ajv = addFormats.default(new Ajv({ strict: false, logger: false }));
const fitsSpec = ajv.compile(specSchema);
const fitsStatus = ajv.compile(statusSchema);

const PEM = 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t';
/** Every field that there is. */
const FULL = {
  replicas: 3,
  provider: 'custom',
  config: { pool: 'eu' },
  paused: false,
  maxGameServerDeletesPerTick: 50,
  drainWarningSeconds: 60,
  schedules: [
    { name: 's', timezone: 'Europe/Berlin', cron: '0 17 * * FRI', durationMinutes: 60, replicas: 4, leadSeconds: 5 },
  ],
  overrides: [{ name: 'o', start: '2027-03-01T08:00:00Z', end: '2027-03-02T08:00:00+01:00', replicas: 9 }],
  grpcHook: { address: 'hook.example:443', service: { name: 'h', namespace: 'n', port: 1 }, caBundle: PEM, port: 8443 },
};

type Fields<T> = { readonly [field in keyof T]-?: true };
type Hook = NonNullable<GameServerNodeSpec['grpcHook']>;
/** As the compiler knows them: a field that is new in the code is missing here, and then in the CRD. */
const FIELDS: Readonly<Record<string, object>> = {
  spec: {
    ...{ replicas: true, provider: true, config: true, paused: true, maxGameServerDeletesPerTick: true },
    ...{ drainWarningSeconds: true, schedules: true, overrides: true, grpcHook: true },
  } satisfies Fields<GameServerNodeSpec>,
  'spec.schedules[]': {
    ...{ name: true, timezone: true, cron: true, durationMinutes: true, replicas: true, leadSeconds: true },
  } satisfies Fields<Schedule>,
  'spec.overrides[]': { name: true, start: true, end: true, replicas: true } satisfies Fields<Override>,
  'spec.grpcHook': { address: true, service: true, caBundle: true, port: true } satisfies Fields<Hook>,
  'spec.grpcHook.service': { name: true, namespace: true, port: true } satisfies Fields<NonNullable<Hook['service']>>,
};

type Path = readonly (string | number)[];

/** The places of a schema, each with its path in an object that has one item in every list. */
function* placesOf(schema: Schema, path: Path = []): Generator<{ readonly path: Path; readonly schema: Schema }> {
  yield { path, schema };
  for (const [name, inner] of Object.entries(schema.properties ?? {})) yield* placesOf(inner, [...path, name]);
  if (schema.items) yield* placesOf(schema.items, [...path, 0]);
}

function withValue(target: unknown, [first, ...rest]: Path, value: unknown): unknown {
  if (first === undefined) return value;
  const copy = structuredClone(target) as Record<string | number, unknown>;
  if (rest.length === 0 && value === undefined) delete copy[first];
  else copy[first] = withValue(copy[first], rest, value);
  return copy;
}

function valueAt(target: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, part) => (value as Record<string | number, unknown>)[part], target);
}

/** Values at and beyond the bounds of a place, and of every other type. */
function probesOf(schema: Schema, now: unknown): unknown[] {
  const bounds = [schema.minimum, schema.maximum].filter((bound) => bound !== undefined);
  const lengths = [0, schema.minLength, schema.maxLength].filter((length) => length !== undefined);
  const text = typeof now === 'string' && schema.pattern !== undefined ? now : '';
  return [
    ...[undefined, null, true, 'text', 1, 0.5, [], {}],
    ...bounds.flatMap((bound) => [bound - 1, bound, bound + 1]),
    // A pattern goes on as it begins: `=` would not, `A` may come anywhere in base64.
    ...lengths
      .flatMap((length) => [length - 1, length, length + 1])
      .flatMap((length) => (length < 0 ? [] : [text.padEnd(length, 'A').slice(0, length)])),
    ...(schema.enum ?? []),
    ...(schema.maxItems === undefined
      ? []
      : [0, 1].map((more) => new Array((schema.maxItems ?? 0) + more).fill((now as unknown[])[0]))),
    ...(schema.maxProperties === undefined
      ? []
      : [0, 1].map((more) =>
          Object.fromEntries(new Array((schema.maxProperties ?? 0) + more).fill('').map((_, at) => [`k${at}`, ''])),
        )),
    ...(schema.additionalProperties?.maxLength === undefined
      ? []
      : [0, 1].map((more) => ({ key: 'x'.repeat((schema.additionalProperties?.maxLength ?? 0) + more) }))),
  ];
}

/** Whether the code finds the form of `spec` right. A field that is not known keeps it from looking at what the values mean. */
function hasRightForm(spec: unknown): boolean {
  const isObject = typeof spec === 'object' && spec !== null && !Array.isArray(spec);
  const read = readSpec(isObject ? { ...spec, unheardOf: 7 } : spec, cronTimes);
  return 'problems' in read && read.problems.every(({ path }) => path === 'spec.unheardOf');
}

describe('the kind GameServerNode', () => {
  it('is as users and tools call it', () => {
    expect(crd.metadata.name).toBe('gameservernodes.stable.agones.dev');
    expect(crd.spec).toMatchObject({
      group: 'stable.agones.dev',
      scope: 'Cluster',
      names: { kind: 'GameServerNode', plural: 'gameservernodes', singular: 'gameservernode', shortNames: ['gsn'] },
    });
    expect(versions).toEqual([]);
    expect(version).toMatchObject({ name: 'v1alpha1', served: true, storage: true });
  });

  it('has status and scale beside it', () => {
    expect(version?.subresources).toEqual({
      status: {},
      scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.nodes.active' },
    });
  });

  it('shows in a list how its pool is', () => {
    const columns = version?.additionalPrinterColumns.map(({ name, jsonPath, priority = 0 }) => [
      name,
      jsonPath,
      priority,
    ]);
    expect(columns).toEqual([
      ['Target', '.status.effectiveTarget', 0],
      ['Active', '.status.nodes.active', 0],
      ['Pending', '.status.nodes.pending', 0],
      ['Draining', '.status.nodes.draining', 0],
      ['Provider', '.status.provider.name', 0],
      ['Valid', '.status.conditions[?(@.type=="Valid")].status', 0],
      ['Health', '.status.conditions[?(@.type=="Degraded")].reason', 0],
      ['Held', '.status.nodes.held', 1],
      ['State', '.status.conditions[?(@.type=="AtTarget")].reason', 1],
      ['Age', '.metadata.creationTimestamp', 0],
    ]);
  });

  it('lets nothing in that it does not list, and says of every value what it is', () => {
    for (const { path, schema } of placesOf(root)) {
      expect(schema, path.join('.')).toHaveProperty('type');
      expect(schema, path.join('.')).not.toHaveProperty('x-kubernetes-preserve-unknown-fields');
      // An API server refuses a schema that has both.
      expect(schema.properties !== undefined && schema.additionalProperties !== undefined, path.join('.')).toBe(false);
      // What an author left out stays left out.
      expect(schema, path.join('.')).not.toHaveProperty('default');
    }
  });

  it('tells of every field of a spec what it means, as kubectl explain shows it', () => {
    const silent = [...placesOf(specSchema)].filter(({ path, schema }) => {
      return typeof path.at(-1) === 'string' && String(schema.description ?? '').length < 10;
    });
    expect(silent.map(({ path }) => path.join('.'))).toEqual([]);
  });
});

describe('the schema of a spec', () => {
  it.each(Object.entries(FIELDS))('has the fields of %s that the code has', (place, fields) => {
    const path = place.replaceAll('[]', '.0').split('.').slice(1);
    const found = [...placesOf(specSchema)].find((one) => one.path.join('.') === path.join('.'));
    expect(Object.keys(found?.schema.properties ?? {}).sort()).toEqual(Object.keys(fields).sort());
  });

  it('has been looked at in every place', () => {
    const objects = [...placesOf(specSchema)].filter(({ schema }) => schema.properties !== undefined);
    expect(objects).toHaveLength(Object.keys(FIELDS).length);
    expect(fitsSpec(FULL)).toBe(true);
    expect(hasRightForm(FULL)).toBe(true);
  });

  it.each([...placesOf(specSchema)].map(({ path, schema }) => [['spec', ...path].join('.'), path, schema] as const))(
    'takes and refuses of %s what the code does',
    (_, path, schema) => {
      const probes = probesOf(schema, valueAt(FULL, path));
      for (const probe of probes) {
        const spec = withValue(FULL, path, probe);
        const shown = JSON.stringify(probe)?.slice(0, 60);
        expect({ probe: shown, fits: fitsSpec(spec) }).toEqual({ probe: shown, fits: hasRightForm(spec) });
      }
      const verdicts = probes.map((probe) => fitsSpec(withValue(FULL, path, probe)));
      expect(verdicts).toContain(false);
    },
  );

  it.each([
    ['a cron of six fields', { schedules: [{ ...FULL.schedules[0], cron: '0 0 17 * * FRI' }] }, 'InvalidSpec'],
    ['an unknown zone', { schedules: [{ ...FULL.schedules[0], timezone: 'Europe/Atlantis' }] }, 'InvalidSpec'],
    ['both address and service', {}, 'InvalidSpec'],
    [
      'a window that ends before it starts',
      { overrides: [{ ...FULL.overrides[0], end: '2020-01-01T00:00:00Z' }] },
      'InvalidSpec',
    ],
    ['provider and config that do not fit', { provider: 'eks', config: {}, grpcHook: undefined }, 'InvalidConfig'],
  ])('lets %s in, so that the object can say what is wrong', (_, mistake, reason) => {
    const spec = JSON.parse(JSON.stringify({ ...FULL, ...mistake })) as unknown;
    expect(fitsSpec(spec)).toBe(true);
    expect(readSpec(spec, cronTimes)).toMatchObject({ reason });
  });
});

describe('the schema of a status', () => {
  const status: Required<StatusJson> = {
    observedGeneration: 2,
    effectiveTarget: 3,
    targetSource: 'schedule',
    nextTransition: { at: '2027-01-01T00:00:00.000Z', target: { replicas: 1, source: 'base' } },
    nodes: { active: 1, pending: 2, draining: 3, held: 4, notReady: 5 },
    provider: { name: 'eks', desired: 1, min: 0, max: 2 },
    protectedServers: 7,
    drains: [{ node: 'n1', since: '2027-01-01T00:00:00.000Z', protectedServers: 1, gamePods: 2 }],
    pendingDeletions: [{ node: 'n2', instance: 'i-2', since: '2027-01-01T00:00:00.000Z' }],
    pendingIncrease: { count: 1, since: '2027-01-01T00:00:00.000Z' },
    conditions: [
      {
        ...{ type: 'Valid', status: 'True', reason: 'Accepted', message: '' },
        ...{ lastTransitionTime: '2027-03-01T08:00:00.000Z', observedGeneration: 2 },
      },
    ],
  };

  it('has room for all that is written there', () => {
    const isKnown = ({ path, schema }: { path: Path; schema: Schema }) => {
      const value = valueAt(status, path);
      if (schema.properties === undefined) return;
      expect(Object.keys(value as object).sort(), path.join('.')).toEqual(Object.keys(schema.properties).sort());
    };
    for (const place of placesOf(statusSchema)) isKnown(place);
    expect(fitsStatus(status)).toBe(true);
  });
});

describe('the example', () => {
  it('is right', () => {
    const [example, ...more] = manifest<{ apiVersion: string; kind: string; spec: unknown }>('example.yaml');
    expect(more).toEqual([]);
    expect(example).toMatchObject({ apiVersion: 'stable.agones.dev/v1alpha1', kind: 'GameServerNode' });
    expect(fitsSpec(example?.spec)).toBe(true);
    expect(readSpec(example?.spec, cronTimes)).toHaveProperty('spec');
  });
});
