/** Objects as the API server keeps and hands them out: frozen; a change is made of a copy. */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** RFC 3339 in whole seconds. */
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly [field: string]: unknown;
}

/** Any JSON beside these: `spec` and `status` are what their kind makes of them. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is the kind's, of which the store knows nothing.
  readonly spec?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly status?: any;
  readonly [field: string]: unknown;
}

/** What somebody hands in: the server's fields may be missing, and are not taken over but for comparing. */
export interface ObjectInput {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Partial<ObjectMeta> & { readonly generateName?: string };
  readonly [field: string]: unknown;
}

/** The API group of `apps/v1` is `apps`, that of `v1` is empty. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] as string) : '';
}
