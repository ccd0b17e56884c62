import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';

/** Where the simulated API server listens, and no real one that is worth a file. */
const HERE = 'https://127.0.0.1:';

/**
 * Writes the kubeconfig of a simulated cluster, for its owner's eyes. What an earlier run has left is written over.
 *
 * @throws Error where the file names anything else: people keep the way to their real clusters in such files
 */
export function writeKubeconfig(file: string, text: string): void {
  if (existsSync(file) && !statSync(file).isFile())
    throw new Error(`${file} is no file: name one, or one that there is not yet`);
  if (existsSync(file) && !isOfOne(readFileSync(file, 'utf8'), parse(text)['current-context'])) {
    throw new Error(`${file} is there already, and is no kubeconfig of a simulated cluster: name another file`);
  }
  writeFileSync(file, text, { mode: 0o600 });
  // One that was there has kept the rights that it had.
  chmodSync(file, 0o600);
}

function isOfOne(text: string, name: string): boolean {
  if (text.trim() === '') return true;
  try {
    const { clusters, users, contexts }: Record<string, { name?: string; cluster?: { server?: string } }[]> =
      parse(text);
    const isOurs = (list: typeof clusters) => list?.length === 1 && list[0]?.name === name;
    return (
      isOurs(clusters) && isOurs(users) && isOurs(contexts) && clusters?.[0]?.cluster?.server?.startsWith(HERE) === true
    );
  } catch {
    return false;
  }
}
