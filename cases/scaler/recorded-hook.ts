import { fileURLToPath } from 'node:url';
import {
  type GrpcObject,
  type handleUnaryCall,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { HookCertificates } from './hook-certificates.ts';

/** One call, as the wire had it. */
export interface HookCallSeen {
  readonly path: string;
  readonly message: unknown;
  /** What the caller waits for, in seconds, to the nearest 5. */
  readonly seconds: number;
}

export type HookRpc = 'Validate' | 'Increase' | 'Delete' | 'Size';

/** What a hook answers: a reply, a status of gRPC, or nothing at all. */
export type HookAnswer =
  | { readonly reply: object }
  | { readonly code: number; readonly details: string }
  | { readonly silent: true };

export interface RecordedHook {
  readonly port: number;
  readonly calls: readonly HookCallSeen[];
  close(): void;
}

const PROTO = fileURLToPath(new URL('../../proto/game_server_node.proto', import.meta.url));

/** The service of the contract, read from its text by another toolchain than the product's. */
export function hookService(): ServiceClientConstructor {
  const definition = loadSync(PROTO, { longs: Number, defaults: true, keepCase: true });
  const loaded: GrpcObject = loadPackageDefinition(definition);
  return loaded.GameServerNode as ServiceClientConstructor;
}

/** Answers by rpc, or what makes one when it is asked. What it leaves out is answered with success. */
export type HookAnswers =
  | Readonly<Record<string, HookAnswer>>
  | ((rpc: HookRpc, message: unknown) => HookAnswer | undefined | Promise<HookAnswer | undefined>);

const REPLIES: Readonly<Record<string, object>> = {
  Validate: { is_valid: true, details: [] },
  Increase: {},
  Delete: {},
  Size: { target: 0, ready: 0 },
};

/** A hook on a free port of the loopback address, that notes what it is asked and answers as `answers` has it. */
export async function startRecordedHook(
  { cert, key }: Pick<HookCertificates, 'cert' | 'key'>,
  answers: HookAnswers = {},
): Promise<RecordedHook> {
  const calls: HookCallSeen[] = [];
  const handler =
    (name: string): handleUnaryCall<unknown, unknown> =>
    async (call, answer) => {
      const seconds = Math.round((Number(call.getDeadline()) - Date.now()) / 5000) * 5;
      calls.push({ path: call.getPath(), message: call.request, seconds });
      const given = typeof answers === 'function' ? await answers(name as HookRpc, call.request) : answers[name];
      const wanted = given ?? { reply: REPLIES[name] ?? {} };
      if ('reply' in wanted) answer(null, wanted.reply);
      else if ('code' in wanted) answer(wanted);
    };
  const server = new Server();
  const { service } = hookService();
  server.addService(service, Object.fromEntries(Object.keys(service).map((name) => [name, handler(name)])));
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createSsl(null, [pair]), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { port, calls, close: () => server.forceShutdown() };
}
