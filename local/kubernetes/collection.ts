import type { KubeObject } from './kube-object.ts';

/** Objects of one resource by `namespace/name`, listed in the order of these keys, as etcd has them. */
export class Collection {
  readonly objects = new Map<string, KubeObject>();
  /** Always sorted: what comes and goes is put in its place, which costs less than sorting for every list. */
  readonly #keys: string[] = [];
  #list: readonly KubeObject[] | undefined = [];

  put(key: string, object: KubeObject): void {
    if (!this.objects.has(key)) this.#keys.splice(placeAfter(this.#keys, key, String), 0, key);
    this.objects.set(key, object);
    this.#list = undefined;
  }

  remove(key: string): void {
    if (!this.objects.delete(key)) return;
    this.#keys.splice(placeAfter(this.#keys, key, String) - 1, 1);
    this.#list = undefined;
  }

  list(): readonly KubeObject[] {
    this.#list ??= Object.freeze(this.#keys.map((key) => this.objects.get(key) as KubeObject));
    return this.#list;
  }
}

/** Where in a list that is ordered by key begins what comes after `key`. */
export function placeAfter<T>(sorted: readonly T[], key: string, keyOf: (item: T) => string): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (keyOf(sorted[middle] as T) <= key) from = middle + 1;
    else to = middle;
  }
  return from;
}
