import { afterEach, describe, expect, test } from 'vitest';
import { ApiError } from './api-error.ts';
import { type ApiTestBed, node, startApiTestBed } from './api-test-bed.ts';
import type { Fault } from './server.ts';

let bed: ApiTestBed;
afterEach(() => bed.close());

async function withFault(fault: Fault | undefined): Promise<() => boolean> {
  bed = await startApiTestBed({ before: async ({ method }) => (method === 'DELETE' ? fault : undefined) });
  bed.store.create('nodes', node('a'));
  return () => bed.store.get('nodes', 'a') !== undefined;
}

describe('a request whose connection is cut', () => {
  test.each([
    ['before', true],
    ['after', false],
  ] as const)('%s it took effect gets no answer', async (when, there) => {
    const isThere = await withFault({ kind: 'cut', when });
    await expect(bed.call('DELETE', '/api/v1/nodes/a')).rejects.toThrow('socket hang up');
    expect(isThere()).toBe(there);
    expect(bed.api.requests).toMatchObject([{ verb: 'delete', status: undefined }]);
  });
});

describe('a request that is answered with an error', () => {
  test.each([
    ['before', true],
    ['after', false],
  ] as const)('%s it took effect', async (when, there) => {
    const error = new ApiError(429, 'TooManyRequests', 'too many requests', { retryAfterSeconds: 7 });
    const isThere = await withFault({ kind: 'answer', when, error });
    const { status, headers, body } = await bed.call('DELETE', '/api/v1/nodes/a');
    expect({ status, retryAfter: headers['retry-after'], reason: body.reason }).toEqual({
      status: 429,
      retryAfter: '7',
      reason: 'TooManyRequests',
    });
    expect(isThere()).toBe(there);
  });
});

test('a request can take effect at once and be answered late', async () => {
  let release: (() => void) | undefined;
  const promise = new Promise<void>((resolve) => {
    release = resolve;
  });
  const isThere = await withFault({ kind: 'delay', until: promise });
  const answer = bed.call('DELETE', '/api/v1/nodes/a');
  await expect.poll(isThere).toBe(false);
  expect(bed.api.requests[0]?.status).toBeUndefined();
  release?.();
  expect((await answer).status).toBe(200);
});

test('the hook may change the world first, and sees who asks for what', async () => {
  const seen: string[] = [];
  bed = await startApiTestBed({
    before: ({ verb, resource, name }) => {
      seen.push(`${verb} ${resource} ${name}`);
      bed.store.create('nodes', node('late'));
      return undefined;
    },
  });
  expect((await bed.call('GET', '/api/v1/nodes/late')).status).toBe(200);
  expect(seen).toEqual(['get nodes late']);
});
