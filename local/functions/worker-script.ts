import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';

/**
 * Writes `environment-worker.ts` as JavaScript into `directory` and answers its path. Workers so start in milliseconds
 * and load what Lambda would load, not a TypeScript loader beside it.
 */
export function writeWorkerScript(directory: string): string {
  const source = readFileSync(new URL('environment-worker.ts', import.meta.url), 'utf8');
  const path = join(directory, 'environment-worker.mjs');
  writeFileSync(path, transformSync(source, { loader: 'ts', format: 'esm', target: 'node20' }).code);
  return path;
}
