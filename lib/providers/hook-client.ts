import { isIP } from 'node:net';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { PROVIDER_CALLS } from '../settings.ts';
import { type Config, GameServerNode, type SizeInfo, type Valid } from './generated/game_server_node_pb.ts';
import type { HookEndpoint } from './hook-endpoint.ts';
import { type HookCall, hookError } from './hook-errors.ts';

/** What is sent with every call: `spec.config`. */
export type HookConfig = Pick<Config, 'provider' | 'values'>;

/** A hook of the contract in proto/game_server_node.proto. All throw CallError. */
export interface HookClient {
  validate(config: HookConfig): Promise<Valid>;
  size(config: HookConfig): Promise<SizeInfo>;
  increase(by: number, config: HookConfig): Promise<void>;
  delete(names: readonly string[], config: HookConfig): Promise<void>;
}

type Stub = ReturnType<typeof createClient<typeof GameServerNode>>;
interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * The client of the hook at `endpoint`. Each call has a connection of its own, which is closed when it is over: nothing
 * stays open between two ticks, when nobody would be there to notice that it broke.
 */
export function hookClient(endpoint: HookEndpoint, signal?: AbortSignal): HookClient {
  const { hookValidateMs, hookChangeMs } = PROVIDER_CALLS;
  const call = async <T>(name: HookCall, timeoutMs: number, ask: (stub: Stub, options: CallOptions) => Promise<T>) => {
    const session = sessionOf(endpoint);
    try {
      return await ask(stubOf(endpoint, session), { timeoutMs, ...(signal === undefined ? {} : { signal }) });
    } catch (error) {
      throw hookError(error, name, endpoint);
    } finally {
      session.abort();
    }
  };
  return {
    validate: (config) => call('Validate', hookValidateMs, (stub, options) => stub.validate(config, options)),
    size: (config) => call('Size', hookValidateMs, (stub, options) => stub.size(config, options)),
    increase: async (by, config) => {
      await call('Increase', hookChangeMs, (stub, options) =>
        stub.increase({ increaseSize: BigInt(by), config }, options),
      );
    },
    delete: async (names, config) => {
      await call('Delete', hookChangeMs, (stub, options) => stub.delete({ names: [...names], config }, options));
    },
  };
}

function sessionOf({ host, port, serverName, ca }: HookEndpoint): Http2SessionManager {
  // An address is no name to send; it is checked all the same.
  const servername = isIP(serverName) === 0 ? { servername: serverName } : {};
  return new Http2SessionManager(`https://${host}:${port}`, undefined, { ca, ...servername });
}

function stubOf({ host, port }: HookEndpoint, sessionManager: Http2SessionManager): Stub {
  const transport = createGrpcTransport({
    baseUrl: `https://${host}:${port}`,
    sessionManager,
    readMaxBytes: PROVIDER_CALLS.hookReplyBytes,
    // A small reply that is a large one when it is unpacked is not worth having.
    acceptCompression: [],
  });
  return createClient(GameServerNode, transport);
}
