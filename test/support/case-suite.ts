import { fileURLToPath } from 'node:url';
import { type AnyCase, readCaseFile } from '../../cases/case-file.ts';
import { judged, type Verdict } from '../../cases/judge.ts';
import type { Way } from '../../cases/outcome.ts';
import { systemClock } from '../../lib/time.ts';

/** A case with its place among all of them, which tells it from every other that is run on the same tables. */
export interface NumberedCase extends AnyCase {
  readonly at: number;
  readonly title: string;
}

/** The cases of files of `test/cases`, in order. */
export function casesIn(...files: readonly string[]): NumberedCase[] {
  return files
    .flatMap((file) => readCaseFile(fileURLToPath(new URL(`../cases/${file}`, import.meta.url))))
    .map((one, at) => ({ ...one, at, title: String(one.content.description) }));
}

/** What is wrong with a case that is run one way. */
export async function verdictOf({ at, title: _shown, ...one }: NumberedCase, way: Way): Promise<Verdict['problems']> {
  for await (const { problems } of judged(one, at, [way], systemClock())) return problems;
  throw new Error(`case ${one.id} was not judged`);
}
