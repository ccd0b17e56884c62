import * as z from 'zod/mini';
import type { Stack, TemplateResource } from './cloud-assembly.ts';
import { resolveIntrinsics, type Scope } from './intrinsics.ts';

/** The region and account that the engine pretends to be. */
export interface Place {
  readonly region: string;
  readonly account: string;
}

/** Without it zod/mini only says "Invalid input". */
const IN_ENGLISH = { error: z.locales.en().localeError };

/** What a resource is known by once it is there: its `Ref` and its attributes. */
export interface Physical {
  readonly ref?: string | undefined;
  readonly attributes: Readonly<Record<string, string | undefined>>;
}

/** A resource that the template declares, and where. */
export interface Declared {
  readonly stack: Stack;
  readonly logicalId: string;
  readonly resource: TemplateResource;
}

/** Something in a template that the engine cannot run as AWS would. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** The resources of all stacks and what they are known by, as far as they are there. */
export class Resources {
  readonly #stacks: readonly Stack[];
  readonly #place: Place;
  readonly #physical = new Map<string, Physical>();

  constructor(stacks: readonly Stack[], place: Place) {
    this.#stacks = stacks;
    this.#place = place;
  }

  get place(): Place {
    return this.#place;
  }

  get stacks(): readonly Stack[] {
    return this.#stacks;
  }

  ofType(...types: readonly string[]): Declared[] {
    return this.#stacks.flatMap((stack) =>
      Object.entries(stack.resources)
        .filter(([, { Type }]) => types.includes(Type))
        .map(([logicalId, resource]) => ({ stack, logicalId, resource })),
    );
  }

  /** Says what a resource is known by; later calls add to earlier ones. */
  define({ stack, logicalId }: Declared, { ref, attributes }: Physical): void {
    const key = `${stack.name}/${logicalId}`;
    const known = this.#physical.get(key);
    this.#physical.set(key, { ref: ref ?? known?.ref, attributes: { ...known?.attributes, ...attributes } });
  }

  /**
   * The properties of a resource with intrinsic functions resolved, as `schema` has them.
   *
   * @param ignored properties that make no difference on one machine
   * @throws TemplateError naming the resource and a property that is missing, wrong or neither used nor ignored
   * @throws IntrinsicError
   */
  properties<T>(declared: Declared, schema: z.ZodMiniType<T>, ignored: readonly string[]): T {
    const { stack, logicalId, resource } = declared;
    const path = `${stack.name}/${logicalId}`;
    if (resource.Condition !== undefined) {
      throw new TemplateError(
        `${path}: the local engine knows no conditions, but it has Condition ${resource.Condition}`,
      );
    }
    const used = Object.entries(resource.Properties ?? {}).filter(([name]) => !ignored.includes(name));
    const parsed = schema.safeParse(resolveIntrinsics(Object.fromEntries(used), this.#scope(stack), path), IN_ENGLISH);
    if (parsed.success) return parsed.data;
    const problems = parsed.error.issues.map((issue) =>
      issue.code === 'unrecognized_keys'
        ? `${[...issue.path, ''].join('.')}${issue.keys.join(', ')} is not supported by the local engine`
        : `${issue.path.join('.')}: ${issue.message}`,
    );
    throw new TemplateError(`${path} (${resource.Type}): ${problems.join('; ')}`);
  }

  /** The outputs whose description is the name of an environment variable: what workers are to be told. */
  environmentOutputs(): Record<string, string> {
    const environment: Record<string, string> = {};
    for (const stack of this.#stacks) {
      for (const [name, { Value, Description = '' }] of Object.entries(stack.outputs)) {
        if (!/^[A-Z][A-Z0-9_]*$/.test(Description)) continue;
        const path = `${stack.name}/Outputs.${name}`;
        environment[Description] = String(resolveIntrinsics(Value, this.#scope(stack), path));
      }
    }
    return environment;
  }

  #scope(stack: Stack): Scope {
    const { region, account } = this.#place;
    const pseudo: Readonly<Record<string, string>> = {
      'AWS::Region': region,
      'AWS::AccountId': account,
      'AWS::Partition': 'aws',
      'AWS::URLSuffix': 'amazonaws.com',
      'AWS::StackName': stack.name,
      'AWS::StackId': `arn:aws:cloudformation:${region}:${account}:stack/${stack.name}/local`,
    };
    const known = (logicalId: string) => this.#physical.get(`${stack.name}/${logicalId}`);
    return {
      ref: (name) => pseudo[name] ?? known(name)?.ref ?? stack.parameters[name]?.Default,
      attribute: (logicalId, attribute) => known(logicalId)?.attributes[attribute],
      imported: (exportName) => this.#exported(exportName),
    };
  }

  #exported(exportName: string): unknown {
    for (const stack of this.#stacks) {
      for (const [name, output] of Object.entries(stack.outputs)) {
        const path = `${stack.name}/Outputs.${name}`;
        if (output.Export === undefined) continue;
        if (resolveIntrinsics(output.Export.Name, this.#scope(stack), path) !== exportName) continue;
        return resolveIntrinsics(output.Value, this.#scope(stack), path);
      }
    }
    return undefined;
  }
}

/** The logical id without the hash that CDK puts behind it. */
export function withoutHash(logicalId: string): string {
  return logicalId.replace(/[0-9A-F]{8}$/, '');
}
