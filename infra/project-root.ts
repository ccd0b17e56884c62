import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Everything is found from here, so that the app can be synthesized from any working directory. */
export const PROJECT_ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Absolute path of a file of this repository. */
export function fromProjectRoot(path: string): string {
  return join(PROJECT_ROOT, path);
}
