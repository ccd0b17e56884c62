import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createConnection, createServer, type Server } from 'node:net';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import * as z from 'zod/mini';

/** How long the owner of a lock may take to say that it is alive, milliseconds. */
const ANSWER_MS = 1_000;

/** `port` answers every connection with `token`, for as long as the owner lives: a process id alone may be somebody else's by now. */
const lockContent = z.object({ pid: z.number(), port: z.number(), token: z.string() });
type LockContent = z.infer<typeof lockContent>;

/** The directory in which an engine keeps its state, held by it alone. */
export class DataDirectory {
  readonly path: string;
  readonly #lock: LockContent;
  readonly #server: Server;

  private constructor(path: string, lock: LockContent, server: Server) {
    this.path = path;
    this.#lock = lock;
    this.#server = server;
  }

  /**
   * Opens `path`, making it if need be, and locks it. The lock of an owner that is gone, however it ended, does not count.
   *
   * @throws Error when another engine uses the directory, or it cannot be written
   */
  static async open(path: string): Promise<DataDirectory> {
    const directory = resolve(path);
    try {
      mkdirSync(directory, { recursive: true });
    } catch (cause) {
      throw new Error(`the data directory ${directory} cannot be made: ${(cause as Error).message}`, { cause });
    }
    const token = randomUUID();
    const server = await answerWith(token);
    const lock = { pid: process.pid, port: (server.address() as AddressInfo).port, token };
    try {
      await acquire(join(directory, 'lock'), lock);
    } catch (error) {
      server.close();
      throw error;
    }
    return new DataDirectory(directory, lock, server);
  }

  get databaseFile(): string {
    return join(this.path, 'dynamodb.sqlite');
  }

  get queuesFile(): string {
    return join(this.path, 'queues.jsonl');
  }

  get checkpointsFile(): string {
    return join(this.path, 'streams.json');
  }

  get logFile(): string {
    return join(this.path, 'engine.log');
  }

  /** Gives the directory free for the next engine. */
  release(): void {
    this.#server.close();
    const file = join(this.path, 'lock');
    if (readLock(file)?.token === this.#lock.token) rmSync(file, { force: true });
  }
}

async function acquire(file: string, lock: LockContent): Promise<void> {
  const fresh = `${file}.${lock.token}`;
  for (;;) {
    if (create(file, fresh, lock)) return;
    const other = readLock(file);
    if (other !== undefined && (await isHeld(other))) {
      throw new Error(
        `${file} is held by another engine (process ${other.pid}): two cannot share a data directory. Stop that one, ` +
          'or use another directory',
      );
    }
    // Under another name first: of two that find the same stale lock, one only gets it, and none removes a fresh one.
    const stale = `${fresh}.stale`;
    if (!existsSync(file)) continue;
    renameSync(file, stale);
    if (readLock(stale)?.token === other?.token) rmSync(stale);
    else renameSync(stale, file);
  }
}

/** Makes `file` with its content in one step, so that nobody reads half a lock; false when there is one. */
function create(file: string, fresh: string, lock: LockContent): boolean {
  writeFileSync(fresh, JSON.stringify(lock));
  try {
    linkSync(fresh, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(fresh);
  }
}

function readLock(file: string): LockContent | undefined {
  try {
    return lockContent.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

async function isHeld({ pid, port, token }: LockContent): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const socket = createConnection({ host: '127.0.0.1', port });
  // An owner that does not answer, as one that is stopped in a debugger, still is one.
  const late = new Promise<string>((done) => setTimeout(done, ANSWER_MS, token).unref());
  const answer = await Promise.race([text(socket).catch(() => ''), late]);
  socket.destroy();
  return answer === token;
}

function answerWith(token: string): Promise<Server> {
  return new Promise((done, reject) => {
    const server = createServer((socket) => socket.on('error', () => socket.destroy()).end(token));
    // Nobody needs the process for this alone.
    server.unref().once('error', reject);
    server.listen(0, '127.0.0.1', () => done(server));
  });
}
