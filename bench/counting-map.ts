/** Counts how often it is looked into, and refuses to be walked over: who decides must look up what he needs, never search. */
export class CountingMap<K, V> extends Map<K, V> {
  /** Looks so far. */
  looks = 0;

  override get(key: K): V | undefined {
    this.looks++;
    return super.get(key);
  }

  override has(key: K): boolean {
    this.looks++;
    return super.has(key);
  }

  override entries(): never {
    throw new WalkedOverError(this.size);
  }

  override keys(): never {
    throw new WalkedOverError(this.size);
  }

  override values(): never {
    throw new WalkedOverError(this.size);
  }

  override forEach(): never {
    throw new WalkedOverError(this.size);
  }

  override [Symbol.iterator](): never {
    throw new WalkedOverError(this.size);
  }
}

/** Thrown where all entries are gone through, so that the time taken grows with how many there are. */
export class WalkedOverError extends Error {
  override readonly name = 'WalkedOverError';

  constructor(size: number) {
    super(`all ${size} entries are gone through, where a few are to be looked up`);
  }
}
