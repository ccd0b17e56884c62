import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';

interface WrittenFile {
  readonly output: Pick<NodeJS.WritableStream, 'write'>;
  /** Says nothing of the file. */
  readonly quiet: boolean;
}

/** Writes a file that was asked for, and says where it is, in full: npm goes to the folder of the package first. Undefined: none was. */
export async function writeAsked(
  { output, quiet }: WrittenFile,
  what: string,
  file: string | undefined,
  text: () => string,
): Promise<void> {
  if (file === undefined) return;
  await writeFile(file, text());
  if (!quiet) output.write(`${what} written to ${resolve(file)}\n`);
}

/** A summary as `--json` writes it. */
export function jsonText(summary: object): string {
  return `${JSON.stringify(summary, undefined, 2)}\n`;
}
