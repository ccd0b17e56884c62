import { columnsOf } from './columns.ts';
import type { KubeObject } from './kube-object.ts';
import type { ResourceType } from './resource-type.ts';

/** Whether a client asks for a table, and in which version of it: the first kind of its Accept that is answered. */
export function tableVersion(accept: string): string | undefined {
  const [first = ''] = accept.split(',');
  return /;as=Table/.test(first) ? (/;v=(v1(?:beta1)?)/.exec(first)?.[1] ?? 'v1') : undefined;
}

export interface TableRequest {
  readonly version: string;
  /** What comes along with each row: None, Metadata, Object. */
  readonly includeObject: string;
  /** Milliseconds since 1970, for ages. */
  readonly now: number;
}

/** What `kubectl get` prints; `metadata` is that of the list. */
export function tableOf(
  type: ResourceType,
  objects: readonly KubeObject[],
  metadata: object,
  { version, includeObject, now }: TableRequest,
): object {
  const columns = columnsOf(type);
  const apiVersion = `meta.k8s.io/${version}`;
  return {
    kind: 'Table',
    apiVersion,
    metadata,
    columnDefinitions: columns.map(({ name, type: kind, priority, description }) => {
      const format = name === 'Name' ? 'name' : '';
      return { name, type: kind, format, description, priority };
    }),
    rows: objects.map((object) => {
      const cells = columns.map((column) => column.cell(object, now));
      if (includeObject === 'None') return { cells };
      if (includeObject === 'Object') return { cells, object };
      return { cells, object: { kind: 'PartialObjectMetadata', apiVersion, metadata: object.metadata } };
    }),
  };
}
