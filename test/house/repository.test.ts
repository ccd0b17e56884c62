import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, read, readJson, repositoryFiles } from './repository.ts';

interface Manifest {
  readonly [field: string]: unknown;
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly overrides: Readonly<Record<string, string>>;
}

interface Lock {
  readonly version: string;
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A folder of somebody's machine. The `/` before the name keeps out relative paths and addresses. */
const MACHINE = /(?:(?<![\w.~$}/-])|(?<=file:\/\/))\/(?:home|Users|root|work)\/[\w.-]+|[A-Z]:\\{1,2}Users\\/;

/** Where packages are downloaded from is the business of whoever installs. */
const REGISTRY =
  /https?:\/\/[^\s"'`)]*(?:registry|artifactory|nexus|verdaccio)[^\s"'`)]*|registry\.npm[\w]*\.|^\s*(?:@[\w-]+:)?registry\s*=/m;

const TEXT = /\.(?:[cm]?[jt]s|json|jsonc|md|html|css|svg|txt|ya?ml|proto|sh|csv)$|(?:^|\/)[^.]+$|(?:^|\/)\.[\w-]+$/;

/** The lines of the repository that `pattern` finds, as `file:line: text`. */
function linesWith(pattern: RegExp | string, files: readonly string[]): string[] {
  return files.flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((text, index) => {
        const found = typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text);
        return found ? [`${path}:${index + 1}: ${text.trim().slice(0, 160)}`] : [];
      }),
  );
}

describe('the files of the repository', () => {
  const texts = repositoryFiles().filter((path) => TEXT.test(path));

  it('are there to be looked at', () => {
    expect(texts).toEqual(
      expect.arrayContaining(['.ci/run', '.npmrc', 'LICENSE', 'package-lock.json', 'tsconfig.json']),
    );
  });

  it('hold no path of the machine that they were written on', () => {
    expect(linesWith(MACHINE, texts)).toEqual([]);
    expect(linesWith(ROOT, texts)).toEqual([]);
  });

  it('hold no address of a package registry', () => {
    expect(linesWith(REGISTRY, texts)).toEqual([]);
  });

  it('that are commands can be executed', () => {
    expect(statSync(join(ROOT, '.ci/run')).mode & 0o111).toBe(0o111);
  });

  it.each(['.editorconfig', '.gitattributes', 'CHANGELOG.md', 'LICENSE', 'docs/decisions/README.md'])(
    'include %s',
    (path) => {
      expect(existsSync(join(ROOT, path))).toBe(true);
    },
  );

  it('stand under the licence that package.json names', () => {
    expect(read('LICENSE')).toMatch(/^\s+Apache License\n\s+Version 2\.0, January 2004/);
    expect(readJson<Manifest>('package.json').license).toBe('Apache-2.0');
  });
});

describe('the patterns', () => {
  // Put together here, so that this file holds none of them.
  const at = (...parts: string[]) => parts.join('/');

  it.each([
    at('', 'home', 'jane', 'berth'),
    `"${at('', 'Users', 'jane')}"`,
    at('file://', 'home', 'jane'),
    at('', 'work', 'berth'),
    ['C:', 'Users', 'jane'].join('\\'),
  ])('find a folder of a machine: %s', (text) => {
    expect(text).toMatch(MACHINE);
  });

  it.each(['node_modules/home/x', 'https://example.com/home/page', './root/x', '$' + '{HOME}/home/x', '/homepage'])(
    'let pass: %s',
    (text) => {
      expect(text).not.toMatch(MACHINE);
    },
  );

  it.each([
    at('https:/', ['registry', 'npmjs', 'org'].join('.'), 'zod'),
    at('http:/', 'localhost:4873', 'verdaccio', 'x'),
    ['registry', 'https'].join('='),
    ['@x:registry', 'https'].join(' = '),
  ])('find a registry: %s', (text) => {
    expect(text).toMatch(REGISTRY);
  });

  it.each(['omit-lockfile-registry-resolved=true', 'the registry of pools', 'https://www.npmjs.com/package/zod'])(
    'let pass: %s',
    (text) => {
      expect(text).not.toMatch(REGISTRY);
    },
  );
});

describe('package.json', () => {
  const manifest = readJson<Manifest>('package.json');
  const versions = {
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
    ...manifest.overrides,
  };

  it('is what a private ESM package of this Node line is', () => {
    expect(manifest).toMatchObject({ name: 'berth', private: true, type: 'module' });
    expect(manifest.engines).toEqual({ node: '>=20.19' });
    expect(manifest.version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it('pins every version', () => {
    expect(Object.entries(versions).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  it('stays with a TypeScript that dependency-cruiser can read: it is green over nothing with 7', () => {
    expect(versions.typescript).toMatch(/^6\./);
  });

  // The client of streams is published when its service changes, which is rare, and is in no bundle.
  it.each([/^(@vitest\/|vitest$)/, /^@aws-sdk\/(client|lib)-(?!dynamodb-streams)/, /^@aws-lambda-powertools\//])(
    'has one version of what belongs together: %s',
    (family) => {
      const members = Object.entries(versions).filter(([name]) => family.test(name));
      expect(members.length).toBeGreaterThan(1);
      expect(new Set(members.map(([, version]) => version)).size).toBe(1);
    },
  );

  it('runs in `check` every script that checks, and in `test` all of `check`', () => {
    expect(manifest.scripts.check?.split(' && ')).toEqual(
      ['typecheck', 'lint', 'format:check', 'dead-code', 'arrows'].map((name) => `npm run ${name}`),
    );
    expect(manifest.scripts.test).toBe('node --import tsx test/run.ts');
  });
});

describe('package-lock.json', () => {
  const lock = readJson<Lock>('package-lock.json');
  const manifest = readJson<Manifest>('package.json');
  const packages = Object.entries(lock.packages);

  it('names no address that a package is downloaded from', () => {
    expect(packages.filter(([, one]) => 'resolved' in one).map(([path]) => path)).toEqual([]);
    expect(read('.npmrc')).toContain('omit-lockfile-registry-resolved=true');
  });

  it('says of every package what its content must be', () => {
    const unchecked = packages.filter(([path, one]) => path !== '' && !one.inBundle && !one.link && !one.integrity);
    expect(unchecked.map(([path]) => path)).toEqual([]);
  });

  // An optional package that could not be had when the lock file was written is left out of it, and `npm ci` then refuses.
  it('holds every package that another one in it asks for', () => {
    const missing = packages.flatMap(([path, one]) => {
      const asked = Object.keys({ ...(one.dependencies ?? {}), ...(one.optionalDependencies ?? {}) });
      return asked.filter((name) => !isFound(name, path)).map((name) => `${name}, asked for by ${path}`);
    });
    expect(missing).toEqual([]);
  });

  /** Whether a package at `path` finds `name` as Node does: beside itself, then one folder up after the other. */
  function isFound(name: string, path: string): boolean {
    if (`${path === '' ? '' : `${path}/`}node_modules/${name}` in lock.packages) return true;
    if (path === '') return false;
    return isFound(name, path.slice(0, Math.max(0, path.lastIndexOf('node_modules/') - 1)));
  }

  it('is in step with package.json', () => {
    expect(lock.lockfileVersion).toBe(3);
    expect(lock.version).toBe(manifest.version);
    const root = lock.packages[''];
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
      expect(root?.[kind] ?? {}).toEqual(manifest[kind] ?? {});
    }
  });

  it('holds each library whose objects must be of one kind once', () => {
    for (const name of ['zod', 'constructs', 'aws-cdk-lib', '@aws-sdk/client-dynamodb', 'typescript']) {
      const copies = packages.filter(
        ([path]) => path === `node_modules/${name}` || path.endsWith(`/node_modules/${name}`),
      );
      expect(copies.map(([path]) => path)).toEqual([`node_modules/${name}`]);
    }
  });
});
