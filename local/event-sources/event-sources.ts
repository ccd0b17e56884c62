import { type EventCounts, type EventSource, NO_COUNTS } from './event-source.ts';

/** The event sources of an engine. A name is that of a function and means all its sources; left out, all there are. */
export class EventSources {
  readonly #sources: readonly EventSource[];

  constructor(sources: readonly EventSource[]) {
    this.#sources = sources;
  }

  get all(): readonly EventSource[] {
    return this.#sources;
  }

  /** Takes no more events; settles when those that were taken are dealt with. */
  async pause(functionName?: string): Promise<void> {
    await Promise.all(this.#of(functionName).map((source) => source.pause()));
  }

  resume(functionName?: string): void {
    for (const source of this.#of(functionName)) source.resume();
  }

  /**
   * Settles when there is nothing to do: the sources are empty and no function is at work. A message that failed counts
   * until it is delivered again and done, or is in the dead-letter queue; a change until it is done or given up. Batches
   * of a stream do not wait for their window meanwhile.
   */
  async idle(functionName?: string): Promise<void> {
    await Promise.all(this.#of(functionName).map((source) => source.idle()));
  }

  /** How many events went which way: whether a change that does not concern a function has invoked it. */
  counts(functionName?: string): EventCounts {
    const sum = { ...NO_COUNTS };
    for (const { counts } of this.#of(functionName)) {
      for (const name of Object.keys(sum) as (keyof EventCounts)[]) sum[name] += counts[name];
    }
    return sum;
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.stop(graceMs)));
  }

  #of(functionName: string | undefined): readonly EventSource[] {
    if (functionName === undefined) return this.#sources;
    const found = this.#sources.filter((source) => source.functionName === functionName);
    if (found.length === 0) {
      const names = this.#sources.map((source) => source.functionName).join(', ');
      throw new Error(`no event source of a function ${functionName}; there are those of: ${names}`);
    }
    return found;
  }
}
