import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository that these tests belong to. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');

/** What is installed, generated or kept by git: the same names as in .gitignore. */
const NOT_OURS = new Set(['node_modules', '.git', 'cdk.out', 'coverage', 'out', '.stryker-tmp']);

/** The files of the repository, as paths from its root with `/`, sorted. Those not committed yet belong to them. */
export function repositoryFiles(folder: string = ROOT): string[] {
  const files: string[] = [];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (NOT_OURS.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) files.push(...repositoryFiles(path));
    else if (entry.isFile()) files.push(relative(ROOT, path).split(sep).join('/'));
  }
  return files.sort();
}

/** The content of a file of the repository. */
export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** A JSON file of the repository. */
export function readJson<T>(path: string): T {
  return JSON.parse(read(path)) as T;
}
