import { spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KUBECTL = 'kubectl';

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `kubectl` against a simulated cluster, with `folder` for all that it keeps. */
export class Kubectl {
  readonly #folder: string;
  readonly #kubeconfig: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#kubeconfig = join(folder, 'kubeconfig');
  }

  /** Whom it asks from now on: the text of a kubeconfig. */
  use(kubeconfig: string): void {
    writeFileSync(this.#kubeconfig, kubeconfig);
  }

  /** For what goes on until it is ended. */
  start(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    // HOME, where kubectl keeps what it has discovered of a server: that of each server is another. TMPDIR gets edits that
    // were refused.
    const env = { PATH: process.env.PATH ?? '', HOME: this.#folder, TMPDIR: this.#folder, ...environment };
    return spawn(KUBECTL, ['--kubeconfig', this.#kubeconfig, ...args], { env });
  }

  run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    const child = this.start(args, environment);
    const heard = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (part: string) => (heard.stdout += part));
    child.stderr.setEncoding('utf8').on('data', (part: string) => (heard.stderr += part));
    return new Promise((resolve, reject) => {
      child.on('error', () =>
        reject(
          new Error('kubectl is not found on the PATH: install it, on Debian with `apt-get install kubernetes-client`'),
        ),
      );
      child.on('close', (code) => resolve({ code, ...heard }));
    });
  }

  /** What it prints; an error where it fails. */
  async say(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  /** What it says when it fails; an error where it does not. */
  async refusal(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args);
    if (code === 0) throw new Error(`kubectl ${args.join(' ')} was to fail, and said: ${stdout}`);
    return stderr;
  }

  /** `kubectl edit` of that object with an editor that applies a script of sed. */
  edit(resource: string, name: string, script: string): Promise<Outcome> {
    const editor = join(this.#folder, 'editor.sh');
    writeFileSync(editor, `#!/bin/sh\nsed -i '${script}' "$1"\n`);
    chmodSync(editor, 0o755);
    return this.run(['edit', resource, name], { KUBE_EDITOR: editor });
  }
}

/** Lines of a table as lists of cells. */
export function cells(table: string): string[][] {
  return table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s{2,}/));
}
