import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Watches its input, a pipe whose other end this process holds: when that closes, for whatever reason (an order to stop,
 * the end of this process by `kill -9`), it ends the command, waits for it and removes the directory. A signal to the
 * parent alone could not be handed on, and not every system can tie a child's life to its parent's.
 *
 * $1: directory to remove; the rest: the command, or nothing. The guard's own output is closed, since it goes to a pipe
 * of the parent: to write to it after the parent's end would end the guard too, before it has cleaned up.
 */
const GUARD = `
directory=$1; shift
exec 3<&0
if [ $# -eq 0 ]; then read -r _ <&3; rm -rf "$directory"; exit 0; fi
"$@" </dev/null 3<&- &
child=$!
exec >/dev/null 2>&1
(
  read -r _ <&3
  kill -TERM $child 2>/dev/null
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 $child 2>/dev/null || exit 0
    sleep 0.1
  done
  kill -KILL $child 2>/dev/null
) &
watcher=$!
wait $child
status=$?
kill $watcher 2>/dev/null
rm -rf "$directory"
exit $status
`;

/** How long a stop may take before the guard itself is ended, milliseconds; the guard allows the command two seconds. */
const STOP_MS = 5_000;

/** A command that ends with this process, and a directory that goes with it. */
export class GuardedProcess {
  readonly #guard: ChildProcess;
  readonly #ended: Promise<number>;
  #output = '';
  #stopping = false;

  /**
   * @param directory removed when the command has ended
   * @param command program and arguments; none if only the directory is to be guarded
   */
  constructor(directory: string, command: readonly string[] = []) {
    this.#guard = spawn('sh', ['-c', GUARD, 'guard', directory, ...command], {
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own: Ctrl-C at the terminal reaches this process only, which then stops in order.
      detached: true,
    });
    this.#ended = new Promise((resolve) => {
      this.#guard.once('close', (status) => resolve(status ?? 1));
      this.#guard.once('error', (error) => {
        this.#output = error.message;
        resolve(127);
      });
    });
    for (const stream of [this.#guard.stdout, this.#guard.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        // The end says why it failed; all of it could be much.
        this.#output = (this.#output + text).slice(-4_000);
      });
    }
    // The guard may be gone before its input is closed.
    this.#guard.stdin?.on('error', () => undefined);
  }

  /** The last that the command printed. */
  get output(): string {
    return this.#output.trim();
  }

  /** Settles with the exit status when the command has ended by itself; never after `stop`. */
  async endedByItself(): Promise<number> {
    const status = await this.#ended;
    return this.#stopping ? new Promise(() => undefined) : status;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#guard.stdin?.end();
    const timer = setTimeout(() => this.#guard.kill('SIGKILL'), STOP_MS);
    await this.#ended;
    clearTimeout(timer);
  }
}
