import type { Cli, CommonOptions, Run } from './context.ts';
import { BadInputError } from './io.ts';
import { json } from './table.ts';

/** What is wrong with a file, of which all there is to say has been printed. */
export type Wrong = string | undefined;

/** Runs what needs neither a deployment nor a cluster, and so no variable and no credentials. What is wrong ends as a bad file does. */
export async function offline(
  { io }: Cli,
  { json: asJson }: CommonOptions,
  work: (run: Pick<Run, 'print' | 'io'>) => Promise<Wrong>,
): Promise<void> {
  const print = (value: unknown, text: () => string) => io.out(`${asJson ? json(value) : text()}\n`);
  const wrong = await work({ print, io });
  if (wrong !== undefined) throw new BadInputError(wrong);
}
