/**
 * A hook of one page: adds and ends machines for the node scaler, where the provider is none that Berth knows
 * (`provider: custom` of a GameServerNode). The contract, with what each answer means, is proto/game_server_node.proto.
 *
 *   node --import tsx examples/node-hook.ts --cert hook.pem --key hook.key --port 8443
 *
 * By itself it only keeps a list, to be tried out with. With commands it makes machines, one a call, whose name stands in
 * the variable MACHINE (and must become the name of the node, since that is what Delete is called with):
 *
 *   … --add 'virt-clone --original golden --name "$MACHINE" --auto-clone && virsh start "$MACHINE"' --remove 'virsh destroy "$MACHINE"'
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import {
  type handleUnaryCall,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const { values: options } = read(() =>
  parseArgs({
    options: {
      cert: { type: 'string' },
      key: { type: 'string' },
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '8443' },
      /** Names that `config.nodepool` may have. */
      pool: { type: 'string', multiple: true, default: ['gameserver'] },
      /** Machines of one pool, at most: whoever asks for a million is not to get them. */
      max: { type: 'string', default: '20' },
      add: { type: 'string' },
      remove: { type: 'string' },
    },
  }),
);
if (options.cert === undefined || options.key === undefined) {
  console.error('expected --cert and --key, files in PEM: the scaler speaks TLS and nothing else');
  process.exit(2);
}
const MAX = Number(options.max);
const run = promisify(execFile);

/** What `look` answers; if it cannot, the process ends with what is wrong, in a line. */
function read<T>(look: () => T): T {
  try {
    return look();
  } catch (error) {
    console.error((error as Error).message);
    console.error(
      'usage: node --import tsx examples/node-hook.ts --cert FILE --key FILE [--host HOST] [--port PORT] [--pool NAME]... [--max N] [--add COMMAND --remove COMMAND]',
    );
    process.exit(2);
  }
}

/** As proto-loader has the messages: names as in the contract, missing values filled in. */
interface Config {
  readonly values: Readonly<Record<string, string>>;
}
interface Detail {
  readonly type: string;
  readonly field: string;
  readonly message: string;
}

/**
 * Machines by pool. A hook that is to live on after it was started anew asks its provider instead, by a tag of its own:
 * a list in memory forgets, and then there are machines that nobody ends.
 */
const pools = new Map<string, Set<string>>(options.pool.map((pool) => [pool, new Set()]));
/** Orders that have been carried out, by their id. Only the last are kept: none comes again after minutes. */
const done = new Set<string>();
let made = 0;

/** Something is wrong, and the caller is told what the status says: `code` decides whether it asks again. */
class Refusal extends Error {
  readonly code: status;
  constructor(message: string, options: ErrorOptions & { readonly code: status }) {
    super(message, options);
    this.code = options.code;
  }
}

function problemsOf({ values }: Config): Detail[] {
  const { nodepool } = values;
  const field = 'nodepool';
  if (nodepool === undefined) return [{ type: 'FieldValueRequired', field, message: 'name the pool' }];
  if (pools.has(nodepool)) return [];
  return [
    { type: 'FieldValueNotFound', field, message: `no pool ${nodepool}; there are ${[...pools.keys()].join(', ')}` },
  ];
}

/** The machines of the pool that a call is about. Validate has been asked before, and may have been long ago. */
function poolOf(config: Config | null): { readonly name: string; readonly machines: Set<string> } {
  const name = config?.values.nodepool ?? '';
  const machines = pools.get(name);
  if (machines === undefined) throw new Refusal(`no pool ${name}`, { code: status.INVALID_ARGUMENT });
  return { name, machines };
}

/** Runs a command of the user's for one machine. A user's own words: they are not to come from a call. */
async function command(text: string | undefined, machine: string): Promise<void> {
  if (text !== undefined) await run('/bin/sh', ['-c', text], { env: { ...process.env, MACHINE: machine } });
}

async function increase(size: number, config: Config | null): Promise<void> {
  const { name, machines } = poolOf(config);
  const order = config?.values.requestId;
  // The same order again, since somebody in between did not see our answer: it has been carried out.
  if (order !== undefined && done.has(order)) return;
  if (!Number.isSafeInteger(size) || size < 1)
    throw new Refusal('increase_size is less than 1', { code: status.INVALID_ARGUMENT });
  if (machines.size + size > MAX) {
    throw new Refusal(`${machines.size} machines and ${size} more are more than ${MAX}`, {
      code: status.RESOURCE_EXHAUSTED,
    });
  }
  for (let left = size; left > 0; left -= 1) {
    made += 1;
    const machine = `${name}-${Date.now().toString(36)}-${made}`;
    try {
      await command(options.add, machine);
    } catch (error) {
      // Nothing was made: the scaler may ask again. Something was: it is to wait for that first.
      const code = left === size ? status.RESOURCE_EXHAUSTED : status.UNKNOWN;
      throw new Refusal(`${left} of ${size} machines could not be made: ${(error as Error).message}`, {
        code,
        cause: error,
      });
    }
    machines.add(machine);
  }
  if (order === undefined) return;
  done.add(order);
  for (const oldest of done) if (done.size > 1000) done.delete(oldest);
}

async function remove(names: readonly string[], config: Config | null): Promise<void> {
  const { machines } = poolOf(config);
  for (const name of names) {
    // One that is not known was ended before: the scaler asks again when it did not see the answer.
    if (!machines.has(name)) continue;
    await command(options.remove, name);
    machines.delete(name);
  }
}

/** One change after the other: two orders at once might both find room for one machine. */
let last: Promise<unknown> = Promise.resolve();
function inTurn<T>(act: () => Promise<T>): Promise<T> {
  const mine = last.then(act, act);
  last = mine.catch(() => undefined);
  return mine;
}

/** A method of the service: what `act` comes to, or what it throws as a status. */
function method<Q>(act: (request: Q) => Promise<object>): handleUnaryCall<Q, object> {
  return (call, answer) => {
    console.log(call.getPath(), JSON.stringify(call.request));
    act(call.request).then(
      (reply) => answer(null, reply),
      // Whatever else goes wrong is UNKNOWN: it may have been done.
      (error: Error) =>
        answer({ code: error instanceof Refusal ? error.code : status.UNKNOWN, details: error.message }),
    );
  };
}

const definition = loadSync(fileURLToPath(new URL('../proto/game_server_node.proto', import.meta.url)), {
  keepCase: true,
  defaults: true,
  longs: Number,
});
const { service } = loadPackageDefinition(definition).GameServerNode as ServiceClientConstructor;

const server = new Server();
server.addService(service, {
  Validate: method(async (config: Config) => {
    const details = problemsOf(config);
    return { is_valid: details.length === 0, details };
  }),
  Increase: method(async ({ increase_size, config }: { increase_size: number; config: Config | null }) => {
    await inTurn(() => increase(increase_size, config));
    return {};
  }),
  Delete: method(async ({ names, config }: { names: readonly string[]; config: Config | null }) => {
    await inTurn(() => remove(names, config));
    return {};
  }),
  // This one makes machines while it is called, so there is none that is ordered and does not run yet.
  Size: method(async (config: Config) => {
    const { size } = poolOf(config).machines;
    return { target: size, ready: size };
  }),
});

const { cert, key } = options;
const pair = read(() => ({ cert_chain: readFileSync(cert), private_key: readFileSync(key) }));
server.bindAsync(`${options.host}:${options.port}`, ServerCredentials.createSsl(null, [pair]), (error, port) => {
  if (error) {
    console.error(`could not listen on ${options.host}:${options.port}: ${error.message}`);
    process.exit(1);
  }
  console.log(`listening on ${options.host}:${port}`);
});
// What is under way is finished: machines that are made and not noted are nobody's.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => server.tryShutdown(() => process.exit(0)));
