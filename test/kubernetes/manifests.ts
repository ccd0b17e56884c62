import { parseAllDocuments } from 'yaml';
import { read } from '../house/repository.ts';

/** The documents of a manifest of `deploy/kubernetes/`. */
export function manifest<T = Record<string, unknown>>(file: string): T[] {
  return parseAllDocuments(read(`deploy/kubernetes/${file}`)).map((document) => {
    if (document.errors.length > 0) throw new Error(`${file} is no YAML: ${document.errors[0]?.message}`);
    return document.toJS() as T;
  });
}

/** A structural schema, as far as the CRD has it. */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly [keyword: string]: unknown;
}

export interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: Readonly<Record<string, unknown>>;
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
      readonly subresources: unknown;
      readonly additionalPrinterColumns: readonly {
        readonly name: string;
        readonly jsonPath: string;
        readonly priority?: number;
      }[];
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}
