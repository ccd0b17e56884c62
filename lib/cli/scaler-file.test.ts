import { describe, expect, it } from 'vitest';
import type { Io } from './io.ts';
import { readObjectFile } from './scaler-file.ts';

const io = (text: string): Io => ({
  out: () => undefined,
  err: () => undefined,
  input: (async function* () {
    yield Buffer.from(text);
  })(),
  env: {},
});
const read = (text: string) => readObjectFile('-', io(text));

const HEAD = 'apiVersion: stable.agones.dev/v1alpha1\nkind: GameServerNode\n';
const pool = (name: string, rest = 'spec: { replicas: 1 }') => `${HEAD}metadata: { name: ${name} }\n${rest}\n`;
const asJson = (name: string) => ({
  apiVersion: 'stable.agones.dev/v1alpha1',
  kind: 'GameServerNode',
  metadata: { name },
  spec: { replicas: 1 },
});

describe('a file of objects', () => {
  it('may have several documents, lists, other kinds, and documents with nothing in them', async () => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [asJson('b'), asJson('c')] });
    const deployment = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\n';
    expect(await read(`# pools\n${pool('a')}---\n# nothing\n---\n${list}\n---\n${deployment}`)).toEqual({
      file: 'standard input',
      objects: [
        { where: 'standard input:2', name: 'a', spec: { replicas: 1 } },
        { where: 'standard input:9 items[0]', name: 'b', spec: { replicas: 1 } },
        { where: 'standard input:9 items[1]', name: 'c', spec: { replicas: 1 } },
      ],
      passedOver: [{ where: 'standard input:11', kind: 'Deployment', name: 'web' }],
    });
  });

  it('may be JSON, indented with tabs', async () => {
    expect((await read(JSON.stringify(asJson('a'), undefined, '\t'))).objects).toMatchObject([{ name: 'a' }]);
  });

  it('is read as kubectl reads it', async () => {
    const spec =
      'spec: { paused: yes, start: 2027-03-01T08:00:00Z, day: 2027-03-01, clock: 17:30, cron: 0 17 * * FRI }';
    const [object] = (await read(pool('a', spec))).objects;
    expect(object?.spec).toEqual({
      ...{ paused: true, start: '2027-03-01T08:00:00Z', day: '2027-03-01', clock: '17:30', cron: '0 17 * * FRI' },
    });
  });

  it.each([
    ['nothing', ' \n', /^standard input is empty: expected objects of Kubernetes/],
    ['comments alone', '# a\n---\n# b\n', /^standard input is empty/],
    ['no YAML', `${pool('a')}---\na: [`, /^standard input:6:5 is neither YAML nor JSON: /],
    ['a key twice', `${pool('a')}spec: {}\n`, /^standard input:5:1 is neither YAML nor JSON: .*unique/],
    ['an alias of nothing', pool('a', 'spec: *none'), /^standard input:1 has an alias .*: .*none/],
    ['nested too deep', `a: ${'['.repeat(201)}${']'.repeat(201)}`, /^standard input is nested deeper than 200 levels/],
    ['nested too deep by dashes', `a:\n  ${'- '.repeat(200)}b`, /^standard input is nested deeper than 200 levels/],
    ['a text', 'pools', /^standard input:1: expected an object of Kubernetes, got "pools"$/],
    ['a list', `[${JSON.stringify(asJson('a'))}]`, /got a list of 1; several objects are documents of their own/],
    ['no kind', 'spec: {}', /^standard input:1: kind: expected .*, got nothing$/],
    ['a List without items', 'kind: List', /^standard input:1: items: expected a list, got nothing$/],
    ['no GameServerNode', 'kind: Service', /^standard input has no GameServerNode, but Service: expected/],
    ['another version', pool('a').replace('alpha1', ''), /^standard input:1: apiVersion: expected .*got "stable/],
    ['no name', pool(''), /^standard input:1: metadata\.name: expected .*got null$/],
    ['a name that none may have', pool('Game_1'), /metadata\.name: expected .*got "Game_1"$/],
    ['a name twice', `${pool('a')}---\n${pool('a')}`, /^standard input:6: .* a stands at standard input:1 already/],
    ['too long', `# ${'x'.repeat(3_000_000)}`, /^standard input is longer than 2097152 bytes; split it$/],
    ['too many', 'kind: A\n---\n'.repeat(1_001), /^standard input has 1001 objects; at most 1000 are read/],
  ])('must not be %s', async (_, text, message) => {
    const refused: unknown = await read(text).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'BadInputError', message: expect.stringMatching(message) });
  });

  it('must be there', async () => {
    await expect(readObjectFile('/none/at/all.yaml', io(''))).rejects.toThrow(
      /^cannot read \/none\/at\/all\.yaml: there is no such file; name a file, or - for standard input$/,
    );
    await expect(readObjectFile('/', io(''))).rejects.toThrow('it is a directory');
  });
});
