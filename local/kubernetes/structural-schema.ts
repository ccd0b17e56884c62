import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { Cause } from './api-error.ts';

/** A structural schema of Kubernetes: OpenAPI v3 as far as CRDs have it. */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly default?: unknown;
  readonly [keyword: string]: unknown;
}

// Keywords of Kubernetes (x-kubernetes-*) say nothing about validity here, and unknown formats are no error there either.
const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true, verbose: true, logger: false }));

const compiled = new WeakMap<Schema, ValidateFunction>();

/** What of `object` the schema refuses, in the words of the API server. */
export function violations(object: unknown, schema: Schema): readonly Cause[] {
  const validate = compiled.get(schema) ?? ajv.compile(schema);
  compiled.set(schema, validate);
  if (validate(object)) return [];
  return (validate.errors ?? []).map(causeOf);
}

function causeOf(error: ErrorObject): Cause {
  const { keyword, instancePath, data } = error;
  const params = error.params as Record<string, string | number>;
  const path = fieldPath(instancePath);
  const field = keyword === 'required' ? join(path, String(params.missingProperty)) : path;
  const shown = JSON.stringify(data);
  const refused = (why: string) => ({ reason: 'FieldValueInvalid', message: `Invalid value: ${shown}: ${why}`, field });
  const inBody = `${field} in body`;
  switch (keyword) {
    case 'required':
      return { reason: 'FieldValueRequired', message: 'Required value', field };
    case 'enum': {
      const values = (error.schema as unknown[]).map((value) => JSON.stringify(value)).join(', ');
      return {
        reason: 'FieldValueNotSupported',
        message: `Unsupported value: ${shown}: supported values: ${values}`,
        field,
      };
    }
    case 'type':
      return {
        reason: 'FieldValueTypeInvalid',
        message: `Invalid value: ${JSON.stringify(typeName(data))}: ${inBody} must be of type ${params.type}: ${JSON.stringify(typeName(data))}`,
        field,
      };
    case 'minimum':
      return refused(`${inBody} should be greater than or equal to ${params.limit}`);
    case 'maximum':
      return refused(`${inBody} should be less than or equal to ${params.limit}`);
    case 'pattern':
      return refused(`${inBody} should match '${params.pattern}'`);
    case 'format':
      return refused(`${inBody} must be of type ${params.format}: ${shown}`);
    case 'minLength':
      return refused(`${inBody} should be at least ${params.limit} chars long`);
    case 'maxLength':
      return { reason: 'FieldValueTooLong', message: `Too long: may not be more than ${params.limit} bytes`, field };
    case 'maxItems':
    case 'maxProperties': {
      const size = Object.keys(data as object).length;
      return {
        reason: 'FieldValueTooMany',
        message: `Too many: ${size}: must have at most ${params.limit} items`,
        field,
      };
    }
    default:
      return refused(`${inBody} ${error.message}`);
  }
}

/** `/spec/schedules/0/name` as `spec.schedules[0].name`. */
function fieldPath(pointer: string): string {
  const steps = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce((path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : join(path, step)), '');
}

function join(path: string, member: string): string {
  return path === '' ? member : `${path}.${member}`;
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

export interface Pruned {
  readonly object: unknown;
  /** The paths of what was taken out. */
  readonly unknown: readonly string[];
}

/** What every object has at its root, whatever the schema says. */
const ROOT = ['apiVersion', 'kind', 'metadata'];

/** `object` without the fields that the schema does not know, and with its defaults. */
export function prune(object: unknown, schema: Schema): Pruned {
  const unknown: string[] = [];
  return { object: pruned(object, schema, '', unknown), unknown };
}

function pruned(value: unknown, schema: Schema, path: string, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item, index) => pruned(item, items, `${path}[${index}]`, unknown)) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const kept: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const here = join(path, name);
    const inner = schema.properties?.[name] ?? schema.additionalProperties;
    if (path === '' && ROOT.includes(name)) kept[name] = member;
    else if (typeof inner === 'object') kept[name] = pruned(member, inner, here, unknown);
    else if (inner === true || schema['x-kubernetes-preserve-unknown-fields'] === true) kept[name] = member;
    else unknown.push(here);
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (kept[name] === undefined && property.default !== undefined) kept[name] = property.default;
  }
  return kept;
}
