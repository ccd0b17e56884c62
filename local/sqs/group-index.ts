import type { Message } from './message.ts';

interface Group {
  readonly key: string;
  /** In order, those in flight included. */
  readonly messages: Message[];
  inFlight: number;
}

/** The messages of a queue by group, and which groups are free, that is without a message in flight. */
export class GroupIndex {
  readonly #groups = new Map<string, Group>();
  /** The group that was freed last stands last, so that every group has its turn. */
  readonly #free = new Set<Group>();

  add(key: string, message: Message): void {
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { key, messages: [], inFlight: 0 };
      this.#groups.set(key, group);
      this.#free.add(group);
    }
    group.messages.push(message);
  }

  free(): Iterable<Group> {
    return this.#free;
  }

  /** `count` more messages of the group are in flight. */
  lock(group: Group, count: number): void {
    group.inFlight += count;
    this.#free.delete(group);
  }

  /** One message of the group less is in flight. */
  unlock(key: string): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    group.inFlight -= 1;
    if (group.inFlight === 0) this.#free.add(group);
  }

  remove(key: string, message: Message, wasInFlight: boolean): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    // A message is deleted from the front nearly always: the search is short.
    group.messages.splice(group.messages.indexOf(message), 1);
    if (wasInFlight) this.unlock(key);
    if (group.messages.length > 0) return;
    this.#groups.delete(key);
    this.#free.delete(group);
  }
}
