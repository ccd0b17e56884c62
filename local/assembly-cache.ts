import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { systemClock } from '../lib/time.ts';

/** What of a project an assembly is made from, and where those that were made are kept. */
export interface AssemblySources {
  /** The project's directory. */
  readonly root: string;
  /** Directories and files below it, all that a template or a bundle can depend on. Those that are missing are passed over. */
  readonly sources: readonly string[];
  /** Directory below it for assemblies that were made. Safe to delete at any time. */
  readonly cache: string;
}

/** Assemblies that are kept: of the branches that somebody goes back and forth between. */
const KEPT = 3;

/** Begins the names of what is being copied, or deleted; after this time whoever did it was killed. */
const DRAFT = 'draft-';
const DRAFT_MS = 3_600_000;

/**
 * Fills `directory` with what `make` makes of the sources as they are now: by `make`, which takes seconds, or from a copy of
 * what it made of the very same sources before. A cache that cannot be read or written is as good as none.
 */
export async function assembledInto(
  directory: string,
  from: AssemblySources,
  make: (directory: string) => Promise<void>,
): Promise<void> {
  const cache = join(from.root, from.cache);
  const kept = join(cache, digestOf(from));
  if (tried(() => copyKept(kept, directory))) return;
  // What a copy that broke off has left there.
  rmSync(directory, { recursive: true, force: true });
  await make(directory);
  tried(() => keep(directory, cache, kept));
}

function copyKept(kept: string, directory: string): boolean {
  if (!isDirectory(kept)) return false;
  cpSync(kept, directory, { recursive: true });
  const now = new Date();
  utimesSync(kept, now, now);
  return true;
}

/** Under its name only while it is whole: another process may look for it, make the same, or be killed at any moment. */
function keep(directory: string, cache: string, kept: string): boolean {
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, DRAFT));
  try {
    cpSync(directory, draft, { recursive: true });
    if (!existsSync(kept)) renameSync(draft, kept);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  discardOld(cache);
  return true;
}

function discardOld(cache: string): void {
  const entries = readdirSync(cache).map((name) => ({ name, usedAt: statSync(join(cache, name)).mtimeMs }));
  const newestFirst = entries.filter(({ name }) => !name.startsWith(DRAFT)).sort((a, b) => b.usedAt - a.usedAt);
  for (const { name } of newestFirst.slice(KEPT)) {
    const draft = join(mkdtempSync(join(cache, DRAFT)), name);
    renameSync(join(cache, name), draft);
    rmSync(dirname(draft), { recursive: true, force: true });
  }
  const abandoned = entries.filter(({ name, usedAt }) => name.startsWith(DRAFT) && usedAt < systemClock() - DRAFT_MS);
  for (const { name } of abandoned) rmSync(join(cache, name), { recursive: true, force: true });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function tried(attempt: () => boolean): boolean {
  try {
    return attempt();
  } catch {
    return false;
  }
}

/** Over names and contents, so that a file that is renamed, added or taken away counts as well. */
function digestOf({ root, sources }: AssemblySources): string {
  const hash = createHash('sha256').update(`${process.version} ${process.platform} ${process.arch}\n`);
  for (const file of sources.flatMap((source) => filesBelow(join(root, source))).sort()) {
    const content = readFileSync(file);
    hash.update(`${relative(root, file)} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

function filesBelow(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return [];
  if (found.isFile()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
}
