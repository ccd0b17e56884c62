import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Connections stay open longer than a client leaves them idle: a server that closes one while a request is on its way
 * would break that request.
 */
const KEEP_ALIVE_MS = 120_000;

/** Makes `server` listen on a free port of the loopback address and answers its URL. */
export function listenOnLoopback(server: Server): Promise<string> {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
}
