import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';
import type { FunctionDefinition } from '../functions/execution-environment.ts';
import { type Declared, type Resources, TemplateError, withoutHash } from './scope.ts';

/** A function as the template declares it. Its environment is what stands there, without what the engine adds. */
export interface DeclaredFunction extends FunctionDefinition {
  /** Executions at once, if limited. */
  readonly reservedConcurrency?: number | undefined;
}

const properties = z.strictObject({
  FunctionName: z.optional(z.string()),
  Code: z.strictObject({ S3Bucket: z.unknown(), S3Key: z.string() }),
  Handler: z.string().check(z.regex(/^[^.]+\.[^.]+$/, 'expected file.export, such as index.handler')),
  Runtime: z.string().check(z.regex(/^nodejs/, 'expected a Node.js runtime: the local engine runs no other')),
  Timeout: z._default(z.number(), 3),
  MemorySize: z._default(z.number(), 128),
  Environment: z._default(z.strictObject({ Variables: z.record(z.string(), z.coerce.string()) }), { Variables: {} }),
  ReservedConcurrentExecutions: z.optional(z.number()),
});

const IGNORED = [
  'Architectures',
  'Description',
  'EphemeralStorage',
  'KmsKeyArn',
  'LoggingConfig',
  'Role',
  'RecursiveLoop',
  'Tags',
  'TracingConfig',
];

/** The functions of the template, with their bundles. Defines `Ref` and `Arn`. */
export function declaredFunctions(resources: Resources): DeclaredFunction[] {
  return resources.ofType('AWS::Lambda::Function').map((declared) => {
    const it = resources.properties(declared, properties, IGNORED);
    const functionName = it.FunctionName ?? declared.logicalId;
    const arn = `arn:aws:lambda:${resources.place.region}:${resources.place.account}:function:${functionName}`;
    resources.define(declared, { ref: functionName, attributes: { Arn: arn } });
    return {
      name: withoutHash(declared.logicalId).replace(/(.)Function$/, '$1'),
      functionName,
      arn,
      handler: it.Handler,
      bundle: bundleOf(declared, it.Code.S3Key, it.Handler),
      timeoutMs: it.Timeout * 1000,
      memoryMiB: it.MemorySize,
      environment: it.Environment.Variables,
      reservedConcurrency: it.ReservedConcurrentExecutions,
    };
  });
}

function bundleOf({ stack, logicalId }: Declared, key: string, handler: string): string {
  const directory = stack.assets.get(key);
  const file = handler.split('.')[0];
  const bundle = ['.mjs', '.js', '.cjs']
    .map((extension) => join(directory ?? '', `${file}${extension}`))
    .find((path) => directory !== undefined && existsSync(path));
  if (bundle === undefined) {
    throw new TemplateError(
      `${stack.name}/${logicalId}: the cloud assembly has no bundle ${file}.mjs in the asset ${key}; was it ` +
        'synthesized without bundling?',
    );
  }
  return bundle;
}
