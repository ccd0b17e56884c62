import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as z from 'zod/mini';

/** A resource of a template, with intrinsic functions as they stand. */
export interface TemplateResource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>> | undefined;
  readonly Condition?: string | undefined;
}

/** A stack of a cloud assembly. */
export interface Stack {
  readonly name: string;
  readonly resources: Readonly<Record<string, TemplateResource>>;
  readonly outputs: Readonly<Record<string, TemplateOutput>>;
  readonly parameters: Readonly<Record<string, { readonly Default?: unknown }>>;
  /** Directories of the file assets, by the key under which they would be uploaded: `<hash>.zip`. */
  readonly assets: ReadonlyMap<string, string>;
}

export interface TemplateOutput {
  readonly Value: unknown;
  readonly Description?: string | undefined;
  readonly Export?: { readonly Name: unknown } | undefined;
}

const manifest = z.looseObject({
  artifacts: z.record(
    z.string(),
    z.looseObject({ type: z.string(), properties: z._default(z.record(z.string(), z.unknown()), {}) }),
  ),
});

const template = z.looseObject({
  Resources: z._default(
    z.record(
      z.string(),
      z.looseObject({
        Type: z.string(),
        Properties: z.optional(z.record(z.string(), z.unknown())),
        Condition: z.optional(z.string()),
      }),
    ),
    {},
  ),
  Outputs: z._default(
    z.record(
      z.string(),
      z.looseObject({
        Value: z.unknown(),
        Description: z.optional(z.string()),
        Export: z.optional(z.looseObject({ Name: z.unknown() })),
      }),
    ),
    {},
  ),
  Parameters: z._default(z.record(z.string(), z.looseObject({ Default: z.optional(z.unknown()) })), {}),
});

const assetManifest = z.looseObject({
  files: z._default(
    z.record(
      z.string(),
      z.looseObject({
        source: z.looseObject({ path: z.optional(z.string()) }),
        destinations: z.record(z.string(), z.looseObject({ objectKey: z.string() })),
      }),
    ),
    {},
  ),
});

/**
 * Reads the cloud assembly in `directory`, what `cdk synth` or `app.synth()` wrote: its stacks with their templates and
 * file assets. Nested assemblies (stages) are not looked into.
 *
 * @throws Error naming the file that is missing or not what it should be
 */
export function readCloudAssembly(directory: string): Stack[] {
  const { artifacts } = read(manifest, join(directory, 'manifest.json'));
  const assets = new Map<string, string>();
  for (const artifact of Object.values(artifacts)) {
    if (artifact.type !== 'cdk:asset-manifest') continue;
    const { files } = read(assetManifest, join(directory, String(artifact.properties.file)));
    for (const { source, destinations } of Object.values(files)) {
      for (const { objectKey } of Object.values(destinations)) {
        if (source.path !== undefined) assets.set(objectKey, resolve(directory, source.path));
      }
    }
  }
  const stacks = Object.entries(artifacts).filter(([, artifact]) => artifact.type === 'aws:cloudformation:stack');
  return stacks.map(([name, artifact]) => {
    const it = read(template, join(directory, String(artifact.properties.templateFile)));
    return { name, resources: it.Resources, outputs: it.Outputs, parameters: it.Parameters, assets };
  });
}

function read<T>(schema: z.ZodMiniType<T>, file: string): T {
  if (!existsSync(file))
    throw new Error(`${file} does not exist; expected a cloud assembly, as "npm run synth" writes it`);
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new Error(`${file} is not what the cloud assembly of CDK has there`, { cause });
  }
}
