import { type Document, LineCounter, parseAllDocuments, type Tags } from 'yaml';
import type { AppliedObject } from '../scaler/dry-run.ts';
import { shown } from '../schema.ts';
import { readText } from './input.ts';
import { BadInputError, type Io } from './io.ts';

/** A GameServerNode of a file, and where it stands: `pools.yaml:12`, `pools.yaml:1 items[2]`. */
export interface ObjectInFile extends AppliedObject {
  readonly where: string;
}

/** An object of another kind, which nothing is said of. */
export interface PassedOver {
  readonly where: string;
  readonly kind: string;
  readonly name: string;
}

export interface ObjectFile {
  readonly file: string;
  /** At least one; each of a name of its own. */
  readonly objects: readonly ObjectInFile[];
  readonly passedOver: readonly PassedOver[];
}

/** Bytes of a file: more than an API server takes for one object, and as much as YAML is read of in a second or two. */
const MOST_BYTES = 2 * 1024 * 1024;
/** Objects of a file; each is read, and has a timetable. */
const MOST_OBJECTS = 1_000;
/** Levels of a text: some ten times those of any object of Kubernetes. */
const MOST_DEPTH = 200;

const KIND = 'GameServerNode';
const LISTS: ReadonlySet<string> = new Set(['List', `${KIND}List`]);
const API_VERSION = 'stable.agones.dev/v1alpha1';
const EXPECTED = `expected objects of Kubernetes as YAML or JSON, of which one at least is a ${KIND}`;

/**
 * The GameServerNodes of a file, or of the standard input for `-`: YAML or JSON, several documents, lists of kind List. What
 * could not be applied at all (no YAML, no object, no name, the same name twice, another version of the kind) is a
 * BadInputError that says where; what a spec says is not looked at.
 */
export async function readObjectFile(path: string, io: Io): Promise<ObjectFile> {
  const { where: file, text } = await readText(path, io, MOST_BYTES);
  const all = documentsOf(text, file).flatMap(({ where, value }) => objectsIn(value, where));
  if (all.length === 0) throw new BadInputError(`${file} is empty: ${EXPECTED}`);
  if (all.length > MOST_OBJECTS) {
    throw new BadInputError(`${file} has ${all.length} objects; at most ${MOST_OBJECTS} are read: split it`);
  }
  const [objects, passedOver]: [ObjectInFile[], PassedOver[]] = [[], []];
  for (const { where, value } of all) {
    const kind = kindOf(value, where);
    const name = recordIn(value.metadata).name;
    if (kind === KIND) objects.push(objectOf(value, where, objects));
    else passedOver.push({ where, kind, name: typeof name === 'string' ? name : '' });
  }
  if (objects.length > 0) return { file, objects, passedOver };
  const kinds = [...new Set(passedOver.map(({ kind }) => kind))].join(', ');
  throw new BadInputError(`${file} has no ${KIND}, but ${kinds}: ${EXPECTED}`);
}

interface Placed<T> {
  readonly where: string;
  readonly value: T;
}

/** What is not there in a document, be it for a comment or for nothing, is left out, as kubectl does. */
function documentsOf(text: string, file: string): Placed<unknown>[] {
  const lines = new LineCounter();
  return parsedYaml(text, file, lines).flatMap((document: Document): Placed<unknown>[] => {
    const [broken] = document.errors;
    if (broken !== undefined) {
      const { line, col } = lines.linePos(broken.pos[0]);
      throw new BadInputError(`${file}:${line}:${col} is neither YAML nor JSON: ${broken.message}; ${EXPECTED}`);
    }
    const where = `${file}:${lines.linePos(document.contents?.range?.[0] ?? 0).line}`;
    const value = contentOf(document, where);
    return value === undefined || value === null ? [] : [{ where, value }];
  });
}

function parsedYaml(text: string, file: string, lineCounter: LineCounter): readonly Document[] {
  if (isTooDeep(text)) throw new BadInputError(`${file} is nested deeper than ${MOST_DEPTH} levels; ${EXPECTED}`);
  // As kubectl reads it: YAML 1.1, where `yes` is true; but for times, with colons or dashes, which stay texts.
  const customTags = (tags: Tags) => tags.filter((tag) => !isTime(tag));
  const read = parseAllDocuments(text, { version: '1.1', customTags, lineCounter, prettyErrors: false });
  return Array.isArray(read) ? read : [];
}

/** By what opens on one line or many. The parser goes as deep as the text, and there the process may end instead of the call. */
function isTooDeep(text: string): boolean {
  if (new RegExp(`(?:[-?:][ \\t]){${MOST_DEPTH}}`).test(text)) return true;
  let depth = 0;
  for (const one of text) {
    if (one === '[' || one === '{') depth += 1;
    else if ((one === ']' || one === '}') && depth > 0) depth -= 1;
    if (depth > MOST_DEPTH) return true;
  }
  return false;
}

function isTime(tag: Tags[number]): boolean {
  if (typeof tag === 'string') return tag === 'timestamp' || tag === 'intTime' || tag === 'floatTime';
  return tag.tag === 'tag:yaml.org,2002:timestamp' || ('format' in tag && tag.format === 'TIME');
}

/** An alias of nothing, and aliases of aliases without an end, come up only here. */
function contentOf(document: Document, where: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    const { message } = error as Error;
    throw new BadInputError(`${where} has an alias (*name) that cannot be followed: ${message}`, { cause: error });
  }
}

/** The object itself, or those of a list. */
function objectsIn(value: unknown, where: string): Placed<Readonly<Record<string, unknown>>>[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const instead = Array.isArray(value) ? '; several objects are documents of their own, or items of a List' : '';
    throw new BadInputError(`${where}: expected an object of Kubernetes, got ${shown(value)}${instead}`);
  }
  const record = recordIn(value);
  if (!LISTS.has(kindOf(record, where))) return [{ where, value: record }];
  const { items } = record;
  if (!Array.isArray(items)) throw new BadInputError(`${where}: items: expected a list, got ${shown(items)}`);
  return items.flatMap((item: unknown, at) => objectsIn(item, `${where} items[${at}]`));
}

function kindOf({ kind }: Readonly<Record<string, unknown>>, where: string): string {
  if (typeof kind === 'string' && kind !== '') return kind;
  throw new BadInputError(`${where}: kind: expected the kind of an object, such as ${KIND}, got ${shown(kind)}`);
}

function objectOf(
  { apiVersion, metadata, spec }: Readonly<Record<string, unknown>>,
  where: string,
  before: readonly ObjectInFile[],
): ObjectInFile {
  if (apiVersion !== API_VERSION) {
    throw new BadInputError(`${where}: apiVersion: expected ${API_VERSION}, got ${shown(apiVersion)}`);
  }
  const { name } = recordIn(metadata);
  // RFC 1123, as API servers want it of most kinds.
  if (
    typeof name !== 'string' ||
    name.length > 253 ||
    !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name)
  ) {
    const expected = 'a name of at most 253 characters: lower case letters, digits, - and . inside';
    throw new BadInputError(`${where}: metadata.name: expected ${expected}, got ${shown(name)}`);
  }
  const earlier = before.find((one) => one.name === name);
  if (earlier === undefined) return { where, name, spec };
  throw new BadInputError(`${where}: ${KIND} ${name} stands at ${earlier.where} already: take one out`);
}

function recordIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
