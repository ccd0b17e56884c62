import { createServer, type Server } from 'node:http';
import { AutoScalingClient } from '@aws-sdk/client-auto-scaling';
import { EKSClient } from '@aws-sdk/client-eks';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { EpochMs } from '../time.ts';
import { AwsCalls } from './aws-calls.ts';

/** Clients as they are in production, of which each sends what fails twice more, and a service that answers by HTTP. */

const ERROR = (code: string) =>
  `<ErrorResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><Error><Type>Receiver</Type><Code>${code}</Code><Message>no</Message></Error></ErrorResponse>`;

let server: Server;
let requests: string[];
let answer: { status: number; code: string } | 'hang up';
let calls: AwsCalls;

beforeEach(async () => {
  requests = [];
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      requests.push(new URLSearchParams(body).get('Action') ?? request.url ?? '');
      if (answer === 'hang up') request.socket.destroy();
      else response.writeHead(answer.status, { 'content-type': 'text/xml' }).end(ERROR(answer.code));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const config = {
    region: 'eu-central-1',
    endpoint: `http://127.0.0.1:${port}`,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 3,
  };
  calls = new AwsCalls({
    cluster: 'game',
    eks: new EKSClient(config),
    autoScaling: new AutoScalingClient(config),
    resolveService: async () => undefined,
    clock: () => 0 as EpochMs,
  });
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it.each([
  [{ status: 500, code: 'ResourceContention' }, 'conflict', 'ResourceContention'],
  [{ status: 503, code: 'ServiceUnavailable' }, 'unknown', 'ServiceUnavailable'],
  [{ status: 400, code: 'Throttling' }, 'throttled', 'Throttling'],
  ['hang up', 'unknown', 'ECONNRESET'],
] as const)('sends what changes something once, whatever the answer: %o', async (wanted, kind, code) => {
  answer = wanted;

  await expect(calls.setDesired('g', 3)).rejects.toMatchObject({ kind, code });
  await expect(calls.terminate('i-1')).rejects.toMatchObject({ kind, code });

  expect(requests).toEqual(['SetDesiredCapacity', 'TerminateInstanceInAutoScalingGroup']);
});

it('sends what only reads again', async () => {
  answer = { status: 503, code: 'ServiceUnavailable' };
  await expect(calls.groupsNamed(['g'])).rejects.toMatchObject({ kind: 'unknown' });
  expect(requests).toEqual(['DescribeAutoScalingGroups', 'DescribeAutoScalingGroups', 'DescribeAutoScalingGroups']);
});
