import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ROOT, readJson } from './repository.ts';

/** Files by their path, with their content. */
export type Files = Readonly<Record<string, string>>;

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** What the checks read: the fixture is checked by the very rules that the repository is checked by. */
const CONFIGURATION = ['biome.json', 'knip.json', '.dependency-cruiser.cjs', 'tsconfig.json', '.gitignore'];

const CHECK_SCRIPTS = ['check', 'typecheck', 'lint', 'format:check', 'dead-code', 'arrows'];
const CHECK_PACKAGES = ['@biomejs/biome', '@types/node', 'dependency-cruiser', 'knip', 'typescript', 'vitest'];

export interface Outcome {
  readonly status: number;
  /** Standard output and error as they came, one after the other. */
  readonly output: string;
}

export interface Fixture {
  readonly folder: string;
  /** Runs one of the scripts of package.json that check. */
  readonly script: (name: string) => Promise<Outcome>;
}

/** A small repository with the configuration of this one and `files`, gone when the test has finished. */
export function fixture(files: Files, dependencies: readonly string[] = []): Fixture {
  const folder = mkdtempSync(join(tmpdir(), 'berth-house-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of CONFIGURATION) cpSync(join(ROOT, name), join(folder, name));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir');
  const manifest = readJson<Manifest>('package.json');
  const own = {
    name: 'fixture',
    type: 'module',
    scripts: pick(manifest.scripts, CHECK_SCRIPTS),
    dependencies: pick(manifest.dependencies, dependencies),
    devDependencies: pick(manifest.devDependencies, CHECK_PACKAGES),
  };
  write(folder, { 'package.json': `${JSON.stringify(own, null, 2)}\n`, ...files });
  return { folder, script: (name) => shell(own.scripts[name] ?? `npm run ${name}`, folder) };
}

function pick(from: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => {
      const value = from[name];
      if (value === undefined) throw new Error(`package.json has no ${name}; the fixtures of test/house need it`);
      return [name, value];
    }),
  );
}

/** Writes `files` below `folder`, with the folders that they need. */
export function write(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

/** Runs `command` as npm would: in a shell, with the binaries of node_modules. A status that was not given is 1. */
export function shell(command: string, folder: string): Promise<Outcome> {
  const PATH = `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`;
  return new Promise((resolve) => {
    execFile(
      '/bin/sh',
      ['-c', command],
      // Of a repository that has grown, the list of arrows is longer than the megabyte that Node keeps.
      { cwd: folder, env: { ...process.env, PATH, NO_COLOR: '1' }, maxBuffer: 64 * 1024 * 1024 },
      (error, out, err) => {
        const status = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        resolve({ status, output: `${out}${err}` });
      },
    );
  });
}
