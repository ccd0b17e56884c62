import { hookCertificates } from './hook-certificates.ts';
import type { ScalerLog } from './log.ts';
import { type HookAnswer, type HookRpc, startRecordedHook } from './recorded-hook.ts';

interface Planned {
  /** Default: success. */
  readonly answer?: HookAnswer;
  /** What happens once it is done, before it is answered. */
  readonly before?: () => Promise<void>;
}

/** UNIMPLEMENTED of gRPC. */
const NO_SIZE: HookAnswer = { code: 12, details: 'the hook of the cases has no size to tell' };

/** What a hook of the cases is told to do, and has done. Its machines are nothing but notes. */
class HookScript {
  /** Where what it does is noted. */
  log: ScalerLog | undefined;
  readonly #planned = new Map<HookRpc, Planned>();
  readonly #always = new Map<HookRpc, HookAnswer>();

  /** The next call of `rpc` comes to this. */
  next(rpc: HookRpc, planned: Planned): void {
    this.#planned.set(rpc, planned);
  }

  /** Every call of `rpc` comes to this, until the answers are cleared. */
  always(rpc: HookRpc, answer: HookAnswer): void {
    this.#always.set(rpc, answer);
  }

  clear(): void {
    this.#planned.clear();
    this.#always.clear();
  }

  async answerTo(rpc: HookRpc, message: unknown): Promise<HookAnswer | undefined> {
    if (rpc === 'Size') return NO_SIZE;
    const { answer = this.#always.get(rpc), before } = this.#planned.get(rpc) ?? {};
    this.#planned.delete(rpc);
    if (answer === undefined || 'reply' in answer) this.#note(rpc, message);
    await before?.();
    return answer;
  }

  #note(rpc: HookRpc, message: unknown): void {
    const { increase_size: by = 0, names = [] } = message as { increase_size?: number; names?: readonly string[] };
    if (this.log === undefined) return;
    if (rpc === 'Increase') this.log.increaseBy += Number(by);
    if (rpc === 'Delete') this.log.instancesDeleted.push(...names);
  }
}

export type CaseHook = HookScript & {
  /** `spec.grpcHook` of an object that is to come here. */
  readonly spec: { readonly address: string; readonly caBundle: string };
  close(): void;
};

/** Starts a hook for cases of provider `custom`. */
export async function startCaseHook(): Promise<CaseHook> {
  const certificates = await hookCertificates();
  const script = new HookScript();
  const { port, close } = await startRecordedHook(certificates, (rpc, message) => script.answerTo(rpc, message));
  const caBundle = Buffer.from(certificates.ca).toString('base64');
  return Object.assign(script, { spec: { address: `127.0.0.1:${port}`, caBundle }, close });
}
