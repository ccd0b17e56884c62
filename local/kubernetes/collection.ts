import type { KubeObject } from './kube-object.ts';

/** Objects of one resource by `namespace/name`, in the order in which a list has them: that of the bytes of the keys. */
export class Collection {
  readonly objects = new Map<string, KubeObject>();
  /** Sorted but for what came since the last look: sorting that again costs one pass. */
  #keys: string[] = [];
  #list: readonly KubeObject[] | undefined = [];
  #moved = false;

  put(key: string, object: KubeObject): void {
    if (!this.objects.has(key)) {
      this.#keys.push(key);
      this.#moved = true;
    }
    this.objects.set(key, object);
    this.#list = undefined;
  }

  remove(key: string): void {
    this.objects.delete(key);
    this.#list = undefined;
    this.#moved = true;
  }

  list(): readonly KubeObject[] {
    if (this.#moved) this.#keys = [...new Set(this.#keys)].filter((key) => this.objects.has(key)).sort();
    this.#moved = false;
    this.#list ??= Object.freeze(this.#keys.map((key) => this.objects.get(key) as KubeObject));
    return this.#list;
  }
}
