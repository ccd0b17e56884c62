import { run } from '../../lib/cli/program.ts';

/** What a command line came to. */
export interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `berth` with these words in this process. */
export async function berthCommand(
  env: Readonly<Record<string, string | undefined>>,
  words: readonly string[],
  input = '',
  terminal?: NodeJS.WritableStream,
): Promise<Ran> {
  let [out, err] = ['', ''];
  const status = await run(words, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    input: (async function* () {
      yield Buffer.from(input);
    })(),
    env,
    terminal,
  });
  return { status, out, err };
}
