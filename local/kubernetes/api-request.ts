export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** Where a path leads. Of one that is about no resource, `resource` is empty. */
export interface Target {
  /** Empty for the core's. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** `status`, `scale`; empty: the object itself. */
  readonly subresource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export interface ApiRequest extends Target {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** As RBAC knows it. */
  readonly verb: Verb;
  readonly query: Readonly<Record<string, string>>;
  /** Of a write, parsed; undefined: none. */
  readonly body: unknown;
  readonly contentType: string;
  readonly accept: string;
}

const NO_RESOURCE: Target = {
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: undefined,
  name: undefined,
};

/** What belongs to a namespace itself, not to something in it. */
const OF_NAMESPACES = ['status', 'finalize'];

/** `/apis/agones.dev/v1/namespaces/games/gameservers/x`. */
export function targetOf(path: string): Target {
  const [root, ...parts] = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const head = root === 'api' ? 1 : root === 'apis' ? 2 : Number.POSITIVE_INFINITY;
  if (parts.length <= head) return NO_RESOURCE;
  const [group = '', version = ''] = head === 1 ? ['', parts[0]] : parts;
  const rest = parts.slice(head);
  const scoped = rest[0] === 'namespaces' && rest.length > 2 && !OF_NAMESPACES.includes(rest[2] as string);
  const [resource = '', name, subresource = ''] = scoped ? rest.slice(2) : rest;
  return { group, version, resource, subresource, name, namespace: scoped ? rest[1] : undefined };
}

const NAMED: Readonly<Record<string, Verb>> = { GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
const UNNAMED: Readonly<Record<string, Verb>> = { GET: 'list', POST: 'create', DELETE: 'deletecollection' };

/** Undefined: the method means nothing there. */
export function verbOf(method: string, { name }: Target, query: Readonly<Record<string, string>>): Verb | undefined {
  if (method === 'GET' && isTrue(query.watch)) return 'watch';
  return (name === undefined ? UNNAMED : NAMED)[method === 'HEAD' ? 'GET' : method];
}

function isTrue(value: string | undefined): boolean {
  return value === 'true' || value === '1';
}
