import { Agent, createServer, request } from 'node:http';
import { pipeline } from 'node:stream';
import { listenOnLoopback } from '../../local/loopback-server.ts';

/** An address that stays the same while what is behind it is another from case to case. */
export interface Forwarder {
  readonly url: string;
  /** URL of what is behind it; undefined: nothing, and every connection ends. */
  target: string | undefined;
  close(): Promise<void>;
}

/** Starts a forwarder on a free port of the loopback address. What breaks behind it breaks before it. */
export async function startForwarder(): Promise<Forwarder> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((incoming, answer) => {
    const { target } = forwarder;
    if (target === undefined) return void answer.destroy();
    const { method, headers, url = '/' } = incoming;
    const outgoing = request(new URL(url, target), { method, headers, agent }, (came) => {
      answer.writeHead(came.statusCode ?? 0, came.headers);
      pipeline(came, answer, () => undefined);
    });
    outgoing.on('error', () => answer.destroy());
    pipeline(incoming, outgoing, () => undefined);
  });
  const forwarder: Forwarder = {
    url: await listenOnLoopback(server),
    target: undefined,
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return forwarder;
}
