import { CallError } from '../scaler/call-error.ts';
import type { Whereabouts } from '../scaler/observation.ts';
import type { Provider, Validation } from '../scaler/ports.ts';
import type { GameServerNodeSpec } from '../scaler/spec/spec.ts';
import { boundedProblems, clip, type Problem } from '../schema.ts';
import { PROVIDER_CALLS, RESULTS } from '../settings.ts';
import { isoTime } from '../time.ts';
import type { ProviderContext } from './context.ts';
import type { Valid } from './generated/game_server_node_pb.ts';
import type { HookClient, HookConfig } from './hook-client.ts';
import { endpointOf, type HookEndpoint } from './hook-endpoint.ts';

/** Hooks that have answered that they do not have Size, by host, port and name; of one tick. */
export type HooksWithoutSize = Set<string>;

/** A pool whose machines a hook adds and ends. It is asked for nothing that the cluster can tell. */
export class CustomProvider implements Provider {
  /**
   * Not even of a hook with Size: it says how many machines there are, and not which. What has joined of what was
   * ordered is for the ledger to tell.
   */
  readonly capabilities = { readsSize: false, changesSize: true };
  readonly #context: ProviderContext;
  readonly #object: string;
  readonly #spec: GameServerNodeSpec;
  readonly #withoutSize: HooksWithoutSize;
  #endpoint: Promise<HookEndpoint | { readonly problem: Problem }> | undefined;

  constructor(context: ProviderContext, object: string, spec: GameServerNodeSpec, withoutSize: HooksWithoutSize) {
    this.#context = context;
    this.#object = object;
    this.#spec = spec;
    this.#withoutSize = withoutSize;
  }

  async validate(): Promise<Validation> {
    const endpoint = await this.#located();
    if ('problem' in endpoint) return { problems: [endpoint.problem], warnings: [] };
    const hook = await this.#client(endpoint);
    const valid = await hook.validate(this.#config());
    if (!valid.isValid) return { problems: problemsOf(valid), warnings: [] };
    return { problems: [], warnings: [...notesOf(valid), ...(await this.#sizeWarnings(endpoint, hook))] };
  }

  async describe(): Promise<undefined> {
    return undefined;
  }

  async inspect(): Promise<undefined> {
    return undefined;
  }

  async locate(): Promise<ReadonlyMap<string, Whereabouts>> {
    return new Map();
  }

  async increase({ by }: { readonly by: number }): Promise<void> {
    if (!Number.isSafeInteger(by) || by <= 0) {
      throw new CallError('refused', 'FieldValueInvalid', `increase_size: expected a whole number from 1, got ${by}`);
    }
    const hook = await this.#reached();
    // One order of one object at a time: whoever sends this again by himself sends the same id.
    const requestId = `${this.#context.cluster}/${this.#object}/${isoTime(this.#context.clock())}`;
    const { provider, values } = this.#config();
    await hook.increase(by, { provider, values: { ...values, requestId } });
  }

  endMachine({ node }: { readonly node: string }): Promise<void> {
    return this.endNodes([node]);
  }

  /** Ends the machines of all these nodes by one call. */
  async endNodes(nodes: readonly string[]): Promise<void> {
    const hook = await this.#reached();
    await hook.delete(nodes, this.#config());
  }

  #config(): HookConfig {
    return { provider: 'custom', values: { ...this.#spec.config } };
  }

  #located(): Promise<HookEndpoint | { readonly problem: Problem }> {
    const { grpcHook } = this.#spec;
    if (grpcHook === undefined) throw new Error('a spec of provider custom without grpcHook was let through');
    this.#endpoint ??= endpointOf(grpcHook, (service) => this.#context.resolveService(service));
    return this.#endpoint;
  }

  async #reached(): Promise<HookClient> {
    const endpoint = await this.#located();
    if (!('problem' in endpoint)) return this.#client(endpoint);
    const { path, message } = endpoint.problem;
    throw new CallError('refused', 'NoAddress', `${path}: ${message}`);
  }

  /** gRPC is loaded by who needs it: most clusters have no hook. */
  async #client(endpoint: HookEndpoint): Promise<HookClient> {
    const { hookClient } = await import('./hook-client.ts');
    return hookClient(endpoint, this.#context.signal);
  }

  /** What is odd about the size that a hook tells. Optional, so that nothing is held up by it. */
  async #sizeWarnings({ host, port, serverName }: HookEndpoint, hook: HookClient): Promise<string[]> {
    const key = `${host}:${port} ${serverName}`;
    if (this.#withoutSize.has(key)) return [];
    try {
      const { target, ready } = await hook.size(this.#config());
      if (ready >= target) return [];
      return [`the hook runs ${ready} of ${target} machines: if that stays so, look at why the others do not start`];
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (error.code !== 'UNIMPLEMENTED') return [`the size of the pool could not be read: ${error.message}`];
      this.#withoutSize.add(key);
      return [];
    }
  }
}

function problemsOf({ details }: Valid): Problem[] {
  if (details.length === 0) {
    const message = 'the hook says that it is not valid, and not why: look at what it logs, and have it answer details';
    return [{ path: 'spec.config', message }];
  }
  return boundedProblems(
    details.map(({ type, message, field }) => ({ path: pathOf(field), message: `${type}: ${message}` })),
  );
}

/** What a hook says of a config that is valid, bounded. */
function notesOf({ details }: Valid): string[] {
  return details.slice(0, RESULTS.maxProblems).map(({ message, field }) => {
    return clip(field === '' ? message : `${pathOf(field)}: ${message}`, PROVIDER_CALLS.messageLength);
  });
}

/** Hooks name a value by its key, or by where it stands. */
function pathOf(field: string): string {
  if (field === '') return 'spec.config';
  if (field.startsWith('spec.')) return field;
  return field.startsWith('config.') ? `spec.${field}` : `spec.config.${field}`;
}
