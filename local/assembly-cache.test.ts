import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { assembledInto } from './assembly-cache.ts';

let root: string;
let made: number;
let outs: number;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-assembly-cache-'));
  mkdirSync(join(root, 'lib', 'deep'), { recursive: true });
  writeFileSync(join(root, 'lib', 'deep', 'a.ts'), '1');
  writeFileSync(join(root, 'package.json'), '{}');
  made = 0;
  outs = 0;
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const from = () => ({ root, sources: ['lib', 'package.json', 'not-there'], cache: 'cache/assembly' });

async function make(directory: string): Promise<void> {
  made += 1;
  mkdirSync(join(directory, 'asset.x'), { recursive: true });
  writeFileSync(join(directory, 'asset.x', 'index.mjs'), readFileSync(join(root, 'lib', 'deep', 'a.ts')));
  writeFileSync(join(directory, 'manifest.json'), `${made}`);
}

/** What an assembly holds that somebody asks for, and which making it was. */
async function assembled(): Promise<{ bundle: string; manifest: string }> {
  outs += 1;
  const directory = join(root, `out-${outs}`);
  await assembledInto(directory, from(), make);
  const read = (...path: string[]) => readFileSync(join(directory, ...path), 'utf8');
  return { bundle: read('asset.x', 'index.mjs'), manifest: read('manifest.json') };
}

describe('an assembly', () => {
  it('is made once of the same sources', async () => {
    expect(await assembled()).toEqual({ bundle: '1', manifest: '1' });
    expect(await assembled()).toEqual({ bundle: '1', manifest: '1' });
    expect(made).toBe(1);
  });

  const changes: readonly [string, () => void][] = [
    ['of another content and the same length', () => writeFileSync(join(root, 'lib', 'deep', 'a.ts'), '2')],
    ['that is new', () => writeFileSync(join(root, 'lib', 'b.ts'), '')],
    ['that is gone', () => rmSync(join(root, 'package.json'))],
    ['of another name', () => renameSync(join(root, 'package.json'), join(root, 'lib', 'package.json'))],
    ['that was looked for and not there', () => writeFileSync(join(root, 'not-there'), '')],
  ];
  it.each(changes)('is made anew with a source %s', async (_, change) => {
    await assembled();
    change();
    expect(await assembled()).toMatchObject({ manifest: '2' });
  });

  it('is not made anew for a test, nor for what lies elsewhere', async () => {
    await assembled();
    writeFileSync(join(root, 'lib', 'a.test.ts'), 'x');
    writeFileSync(join(root, 'README.md'), 'x');
    await assembled();
    expect(made).toBe(1);
  });

  it('is not that of sources that were split in another way', async () => {
    writeFileSync(join(root, 'lib', 'a'), 'x\nlib/b 1\ny');
    await assembled();
    writeFileSync(join(root, 'lib', 'a'), 'x');
    writeFileSync(join(root, 'lib', 'b'), 'y');
    expect(await assembled()).toMatchObject({ manifest: '2' });
  });
});

describe('what is kept', () => {
  const kept = () => readdirSync(join(root, 'cache', 'assembly'));

  it('is whole, whoever makes the same at the same time', async () => {
    const all = await Promise.all([assembled(), assembled(), assembled()]);
    expect(new Set(all.map(({ bundle }) => bundle))).toEqual(new Set(['1']));
    expect(kept()).toHaveLength(1);
    expect(await assembled()).toMatchObject({ bundle: '1' });
  });

  it('is nothing of a making that failed', async () => {
    const failing = async (directory: string) => {
      await make(directory);
      throw new Error('does not bundle');
    };
    await expect(assembledInto(join(root, 'out'), from(), failing)).rejects.toThrow('does not bundle');
    expect(await assembled()).toMatchObject({ manifest: '2' });
  });

  it('are the three that were used last', async () => {
    const source = join(root, 'lib', 'deep', 'a.ts');
    for (const content of ['1', '2', '3', '1', '4', '1']) {
      writeFileSync(source, content);
      await assembled();
    }
    expect(made).toBe(4);
    expect(kept()).toHaveLength(3);
  });

  it('is never a part of one: what was begun is not used, and swept up an hour later', async () => {
    const begun = join(root, 'cache', 'assembly', 'draft-1');
    const abandoned = join(root, 'cache', 'assembly', 'draft-2');
    for (const draft of [begun, abandoned]) mkdirSync(draft, { recursive: true });
    utimesSync(abandoned, new Date(0), new Date(0));
    expect(await assembled()).toMatchObject({ manifest: '1' });
    expect(kept()).toHaveLength(2);
    expect(kept()).toContain('draft-1');
  });

  it('does without, where nothing can be kept', async () => {
    writeFileSync(join(root, 'cache'), 'a file');
    expect(await assembled()).toMatchObject({ manifest: '1' });
    expect(await assembled()).toMatchObject({ manifest: '2' });
  });

  it('is made anew where what was kept is none', async () => {
    await assembled();
    const [name] = kept();
    const broken = join(root, 'cache', 'assembly', name as string);
    rmSync(broken, { recursive: true });
    writeFileSync(broken, 'a file');
    expect(await assembled()).toMatchObject({ bundle: '1', manifest: '2' });
  });
});
