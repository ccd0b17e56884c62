import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Document, LineCounter, parseDocument } from 'yaml';
import * as z from 'zod/mini';
import { InvalidInputError, type Problem, pathText } from '../schema.ts';
import { type BearerToken, type ConnectOptions, connect, type KubernetesApi } from './api.ts';
import type { Endpoint } from './exchange.ts';

const text = z.string({ error: 'a text' });
const optional = z.nullish(text);

function shape<T extends z.core.$ZodLooseShape>(fields: T) {
  return z.object(fields, { error: 'an object' });
}

function list<S extends z.ZodMiniType>(item: S) {
  return z.array(item, { error: 'a list' });
}

const cluster = shape({
  server: text,
  'certificate-authority': optional,
  'certificate-authority-data': optional,
  'tls-server-name': optional,
  'insecure-skip-tls-verify': z.nullish(z.boolean({ error: 'true or false' })),
  'proxy-url': optional,
});

const user = shape({
  token: optional,
  tokenFile: optional,
  'client-certificate': optional,
  'client-certificate-data': optional,
  'client-key': optional,
  'client-key-data': optional,
  exec: z.optional(z.unknown()),
  'auth-provider': z.optional(z.unknown()),
  username: z.optional(z.unknown()),
});

const kubeconfig = shape({
  'current-context': optional,
  contexts: list(shape({ name: text, context: shape({ cluster: text, user: text }) })),
  clusters: list(shape({ name: text, cluster })),
  users: list(shape({ name: text, user })),
});

type Kubeconfig = z.output<typeof kubeconfig>;
type User = z.output<typeof user>;

/**
 * A client of the API server that a context of a kubeconfig names; left out: the current one. Known to the server by token or
 * client certificate; commands that would have to be run for one are not. Throws InvalidInputError.
 */
export async function connectToKubeconfig(
  file: string,
  context?: string,
  options: Omit<ConnectOptions, 'token'> = {},
): Promise<KubernetesApi> {
  const config = await readKubeconfig(file);
  const refuse = (path: string, message: string) => refusal(file, [{ path, message }]);
  const wanted = context ?? config['current-context'] ?? '';
  const chosen = config.contexts.find(({ name }) => name === wanted)?.context;
  if (chosen === undefined) {
    const names = config.contexts.map(({ name }) => name).join(', ');
    throw refuse('contexts', `expected one of the name "${wanted}", there are: ${names || 'none'}`);
  }
  const inside = <T extends { readonly name: string }>(
    kind: 'clusters' | 'users',
    all: readonly T[],
    name: string,
  ): T => {
    const one = all.find((entry) => entry.name === name);
    if (one === undefined) throw refuse(kind, `expected one of the name "${name}", which context ${wanted} names`);
    return one;
  };
  const to = new Paths(file);
  const endpoint = await endpointOf(inside('clusters', config.clusters, chosen.cluster), to);
  const who = inside('users', config.users, chosen.user);
  const at = `users[${who.name}].user`;
  for (const way of ['exec', 'auth-provider', 'username'] as const) {
    if (who.user[way] === undefined || who.user[way] === null) continue;
    throw refuse(`${at}.${way}`, 'is not used: expected token, tokenFile, or client-certificate and client-key');
  }
  const token = tokenOf(who.user, to);
  const client = await clientOf(who.user, at, to);
  if (token === undefined && client === undefined) {
    throw refuse(at, 'expected token, tokenFile, or client-certificate and client-key, there is none of them');
  }
  return connect(
    { ...endpoint, ...(client === undefined ? {} : { client }) },
    { ...options, ...(token === undefined ? {} : { token }) },
  );
}

function refusal(file: string, problems: readonly Problem[]): InvalidInputError {
  return new InvalidInputError(`kubeconfig ${file}`, problems);
}

/** Problems without the values that they are of, and without the parser's words: a kubeconfig is full of secrets. */
async function readKubeconfig(file: string): Promise<Kubeconfig> {
  const lines = new LineCounter();
  const document = parseDocument(await textOf(file), { lineCounter: lines, prettyErrors: false });
  const [broken] = document.errors;
  if (broken) {
    const { line } = lines.linePos(broken.pos[0]);
    throw refusal(file, [{ path: `line ${line}`, message: `is no YAML (${broken.code})` }]);
  }
  const content = contentOf(document);
  if (content === undefined) {
    throw refusal(file, [
      { path: '', message: 'has aliases (*name) that cannot be followed: write out what they stand for' },
    ]);
  }
  const outcome = kubeconfig.safeParse(content.value);
  if (outcome.success) return outcome.data;
  throw refusal(
    file,
    outcome.error.issues.map(({ path, message }) => ({ path: pathText(path), message: `expected ${message}` })),
  );
}

/** Undefined: an alias is of nothing, or there are so many of each other that there would be no end to it. */
function contentOf(document: Document): { readonly value: unknown } | undefined {
  try {
    return { value: document.toJS() };
  } catch {
    return undefined;
  }
}

/** Of a directory Node says that it is one, and not which. */
async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path });
  }
}

/** What a kubeconfig has either in itself, in base64, or in a file beside it. */
class Paths {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  read(path: string): Promise<string> {
    return textOf(resolve(dirname(this.#file), path));
  }

  /** Data goes before file, as with kubectl. */
  async pem(at: string, data: string | null | undefined, path: string | null | undefined): Promise<string | undefined> {
    if (!data && !path) return undefined;
    const pem = data ? Buffer.from(data, 'base64').toString('utf8') : await this.read(path ?? '');
    if (pem.includes('-----BEGIN ')) return pem;
    throw refusal(this.#file, [{ path: at, message: data ? 'expected base64 of PEM' : 'expected a file of PEM' }]);
  }

  refuse(path: string, message: string): InvalidInputError {
    return refusal(this.#file, [{ path, message }]);
  }
}

async function endpointOf({ name, cluster: of }: Kubeconfig['clusters'][number], to: Paths): Promise<Endpoint> {
  const at = `clusters[${name}].cluster`;
  if (of['insecure-skip-tls-verify']) {
    throw to.refuse(
      `${at}.insecure-skip-tls-verify`,
      'certificates are always checked: take it out, name the authority',
    );
  }
  if (of['proxy-url']) throw to.refuse(`${at}.proxy-url`, 'no proxy is used: take it out');
  if (!URL.canParse(of.server) || new URL(of.server).protocol !== 'https:') {
    throw to.refuse(`${at}.server`, 'expected an address that begins with https://');
  }
  const authority = 'certificate-authority';
  const ca = await to.pem(`${at}.${authority}`, of[`${authority}-data`], of[authority]);
  if (ca === undefined) throw to.refuse(`${at}.${authority}-data`, 'expected base64 of PEM, it is missing');
  const serverName = of['tls-server-name'];
  return { server: of.server, ca, ...(serverName ? { serverName } : {}) };
}

async function clientOf(of: User, at: string, to: Paths): Promise<Endpoint['client']> {
  const cert = await to.pem(`${at}.client-certificate`, of['client-certificate-data'], of['client-certificate']);
  const key = await to.pem(`${at}.client-key`, of['client-key-data'], of['client-key']);
  if ((cert === undefined) !== (key === undefined)) {
    throw to.refuse(at, 'expected client-certificate and client-key, or neither, got one of them');
  }
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

function tokenOf({ token, tokenFile }: User, to: Paths): BearerToken | undefined {
  if (tokenFile) {
    const get = async () => (await to.read(tokenFile)).trim();
    return {
      get,
      // Whoever writes the file writes a new one before the last has expired.
      async renew(refused) {
        const next = await get();
        return next === refused ? undefined : next;
      },
    };
  }
  return token ? { get: async () => token, renew: async () => undefined } : undefined;
}
