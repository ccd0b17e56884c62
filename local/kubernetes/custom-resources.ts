import type { Clock } from '../../lib/time.ts';
import type { KubeObject } from './kube-object.ts';
import { kubeTime, type ObjectStore } from './object-store.ts';
import { BUILT_IN, type PrinterColumn, type ResourceType, type ScalePaths } from './resource-type.ts';
import type { Schema } from './structural-schema.ts';

const DEFINITIONS = 'customresourcedefinitions';

interface DefinitionSpec {
  readonly group: string;
  readonly scope: string;
  readonly names: {
    readonly plural: string;
    readonly kind: string;
    readonly singular?: string;
    readonly listKind?: string;
    readonly shortNames?: readonly string[];
  };
  readonly versions: readonly {
    readonly name: string;
    readonly served: boolean;
    readonly schema?: { readonly openAPIV3Schema?: Schema };
    readonly subresources?: { readonly status?: object; readonly scale?: ScalePaths };
    readonly additionalPrinterColumns?: readonly PrinterColumn[];
  }[];
}

function typesOf({ spec }: KubeObject): readonly ResourceType[] {
  const { group, scope, names, versions } = spec as DefinitionSpec;
  return versions
    .filter(({ served }) => served)
    .map(({ name, schema, subresources, additionalPrinterColumns }) => ({
      group,
      version: name,
      resource: names.plural,
      singular: names.singular ?? names.kind.toLowerCase(),
      kind: names.kind,
      shortNames: names.shortNames ?? [],
      namespaced: scope === 'Namespaced',
      custom: true,
      status: subresources?.status !== undefined,
      ...(subresources?.scale && { scale: subresources.scale }),
      ...(additionalPrinterColumns && { columns: additionalPrinterColumns }),
      ...(schema?.openAPIV3Schema && { schema: schema.openAPIV3Schema }),
    }));
}

/** What a server with this store serves: what is built in, and what its CustomResourceDefinitions define. */
export class ResourceTypes {
  readonly #store: ObjectStore;
  #definitions: readonly KubeObject[] | undefined;
  #types: readonly ResourceType[] = [];

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** A definition of something that is built in goes before it. */
  all(): readonly ResourceType[] {
    const definitions = this.#store.list(DEFINITIONS);
    if (definitions !== this.#definitions) {
      const defined = definitions.flatMap(typesOf);
      const isDefined = ({ group, resource }: ResourceType) =>
        defined.some((type) => type.group === group && type.resource === resource);
      this.#types = [...BUILT_IN.filter((type) => !isDefined(type)), ...defined];
      this.#definitions = definitions;
    }
    return this.#types;
  }

  find(group: string, version: string, resource: string): ResourceType | undefined {
    return this.all().find((type) => type.resource === resource && type.group === group && type.version === version);
  }
}

/**
 * What the control plane does about definitions: a new one is established, and the objects of one that was deleted go
 * with it. The answer ends it.
 */
export function keepDefinitions(store: ObjectStore, clock: Clock): () => void {
  return store.onChange(({ type, resource, object }) => {
    if (resource !== DEFINITIONS) return;
    const { names, versions } = object.spec as DefinitionSpec;
    if (type === 'DELETED') {
      for (const { metadata } of store.list(names.plural)) {
        store.delete(names.plural, metadata.name, { namespace: metadata.namespace });
      }
      return;
    }
    if (object.status?.conditions !== undefined) return;
    const condition = (name: string, reason: string, message: string) => ({
      type: name,
      status: 'True',
      lastTransitionTime: kubeTime(clock()),
      reason,
      message,
    });
    const status = {
      conditions: [
        condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
        condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
      ],
      acceptedNames: { listKind: `${names.kind}List`, singular: names.kind.toLowerCase(), ...names },
      storedVersions: versions.slice(0, 1).map(({ name }) => name),
    };
    store.updateStatus(DEFINITIONS, { ...object, status });
  });
}
