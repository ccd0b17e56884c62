import { createRequire } from 'node:module';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { GuardedProcess } from '../guarded-process.ts';

/** How long the database may take to answer after its start, milliseconds. It takes a few. */
const START_MS = 10_000;

export interface DynamoDb {
  readonly url: string;
  /** Settles when the database has ended although nobody stopped it; says why. */
  readonly failed: Promise<Error>;
  stop(): Promise<void>;
}

/**
 * Starts DynamoDB on a free port of the loopback address: dynoxide, a binary from npm.
 *
 * @param directory of temporary files, removed when the database ends
 * @param file keeps the data; left out, they live in memory
 * @throws Error when there is no binary for this platform, or it does not start
 */
export async function startDynoxide(directory: string, file?: string): Promise<DynamoDb> {
  const binary = findBinary();
  const port = await freePort();
  const process = new GuardedProcess(directory, [
    binary,
    ...['--host', '127.0.0.1', '--port', String(port)],
    ...(file === undefined ? [] : ['--db-path', file]),
  ]);
  const failed = process
    .endedByItself()
    .then((status) => new Error(`the local DynamoDB ended with status ${status}: ${process.output}`));
  try {
    await Promise.race([listening(port), failed.then((error) => Promise.reject(error))]);
  } catch (error) {
    await process.stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}`, failed, stop: () => process.stop() };
}

function findBinary(): string {
  const { platform, arch } = process;
  const name = `@dynoxide/${platform}-${arch}`;
  const file = platform === 'win32' ? 'dynoxide.exe' : 'dynoxide';
  try {
    return createRequire(import.meta.url).resolve(`${name}/${file}`);
  } catch (cause) {
    throw new Error(
      `there is no local DynamoDB for this platform: the package ${name} is not installed. Run "npm ci" without ` +
        `--omit=optional, add the package if it exists, or start another DynamoDB (such as DynamoDB Local) and set ` +
        'AWS_ENDPOINT_URL_DYNAMODB to its URL',
      { cause },
    );
  }
}

/** The binary takes no port 0. Between this and its start somebody else may take the port; then it ends with an error. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function listening(port: number): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (!(await accepts(port))) {
    if (Date.now() > deadline)
      throw new Error(`the local DynamoDB does not answer on port ${port} after ${START_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
