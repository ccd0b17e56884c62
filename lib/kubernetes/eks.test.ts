import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { failure, type HttpsServer, startHttpsServer } from '../../test/kubernetes/https-server.ts';
import { systemClock } from '../time.ts';
import { connectToEks } from './eks.ts';

let server: HttpsServer;
beforeAll(async () => {
  server = await startHttpsServer();
});
afterAll(() => server.close());

const CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };

/** EKS that answers DescribeCluster as said. */
function eksWith(answer: () => object) {
  const eks = new EKSClient({ region: 'eu-central-1' });
  const send = vi.spyOn(eks, 'send').mockImplementation(async () => answer());
  const of = { cluster: 'game', region: 'eu-central-1', eks, credentials: { ...CREDENTIALS }, clock: systemClock };
  return { of, send };
}

const active = () => ({
  cluster: {
    status: 'ACTIVE',
    endpoint: server.url,
    certificateAuthority: { data: Buffer.from(server.caPem).toString('base64') },
  },
});
const READ = { method: 'GET', path: ['api', 'v1', 'nodes', 'n1'] } as const;

describe('a connection to EKS', () => {
  it('is to the endpoint that EKS names, with its certificates and a token', async () => {
    server.answer(() => ({ json: { ok: true } }));
    const { of, send } = eksWith(active);
    const api = await connectToEks(of);
    expect(await api.request(READ)).toEqual({ ok: true });
    expect(send.mock.calls.map(([command]) => command.input)).toEqual([{ name: 'game' }]);
    expect(send.mock.calls[0]?.[0]).toBeInstanceOf(DescribeClusterCommand);
    expect(server.requests[0]?.headers.authorization).toMatch(/^Bearer k8s-aws-v1\./);
    api.close();
  });

  it('has another token once the first was refused', async () => {
    let now = systemClock();
    const refused = new Set<unknown>();
    server.answer(({ headers }) => {
      if (refused.size > 0 && !refused.has(headers.authorization)) return { json: { ok: true } };
      refused.add(headers.authorization);
      // Tokens of one second are the same.
      now = (now + 1_000) as typeof now;
      return failure(401, 'Unauthorized');
    });
    const api = await connectToEks({ ...eksWith(active).of, clock: () => now });
    expect(await api.request(READ)).toEqual({ ok: true });
    expect(server.requests).toHaveLength(2);
    api.close();
  });

  it('keeps to bounds, and to the signal', async () => {
    server.answer(() => ({ json: { more: 'than ten bytes' } }));
    const stop = new AbortController();
    const api = await connectToEks({ ...eksWith(active).of, bounds: { answerBytes: 10 }, signal: stop.signal });
    await expect(api.request(READ)).rejects.toMatchObject({ code: 'ETOOLARGE' });
    stop.abort();
    await expect(api.request(READ)).rejects.toMatchObject({ code: 'ABORTED' });
    api.close();
  });

  it.each([
    ['not there yet', { cluster: { status: 'CREATING' } }, 'cluster game has no endpoint, its status is CREATING'],
    ['without certificates', { cluster: { status: 'ACTIVE', endpoint: 'https://x' } }, 'its status is ACTIVE'],
    ['not described', {}, 'its status is undefined'],
  ])('to a cluster that is %s is refused', async (_, answer, message) => {
    await expect(connectToEks(eksWith(() => answer).of)).rejects.toMatchObject({
      name: 'CallError',
      kind: 'refused',
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ['AccessDeniedException', 'denied'],
    ['ResourceNotFoundException', 'refused'],
    ['ThrottlingException', 'throttled'],
  ])('that ends in %s is %s', async (name, kind) => {
    const { of } = eksWith(() => {
      throw Object.assign(new Error('why'), { name });
    });
    await expect(connectToEks(of)).rejects.toMatchObject({ kind, code: name, message: 'DescribeCluster of game: why' });
  });
});
