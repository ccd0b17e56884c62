import { describe, expect, it } from 'vitest';
import { CallError } from '../scaler/call-error.ts';
import type { KubernetesApi, KubernetesRequest } from './api.ts';
import { listAll } from './list-all.ts';
import { PODS } from './shapes.ts';

const PATH = ['api', 'v1', 'pods'];
const pod = (name: string, more: object = {}) => ({ metadata: { name, namespace: 'games' }, ...more });

const page = (names: readonly string[], next = '', resourceVersion = '7') => ({
  kind: 'PodList',
  metadata: { resourceVersion, ...(next === '' ? {} : { continue: next }) },
  items: names.map((name) => pod(name)),
});
const answer = (code: string) => new CallError('refused', code, `it is ${code}`);

/** An API that answers with `answers` one after the other, the last again and again. */
function answering(...answers: unknown[]): { api: KubernetesApi; requests: KubernetesRequest[] } {
  const requests: KubernetesRequest[] = [];
  const api: KubernetesApi = {
    async request(request) {
      requests.push(request);
      const next = answers[Math.min(requests.length, answers.length) - 1];
      if (next instanceof Error) throw next;
      return next;
    },
    close: () => undefined,
  };
  return { api, requests };
}

const list = (api: KubernetesApi) => listAll(api, PODS, { path: PATH, query: { labelSelector: 'a=b' } });
const names = async (api: KubernetesApi) => (await list(api))?.map(({ name }) => name);

describe('a list', () => {
  it('is of all pages', async () => {
    const { api, requests } = answering(page(['a', 'b'], 'p2'), page([], 'p3'), page(['c']));
    expect(await names(api)).toEqual(['a', 'b', 'c']);
    expect(requests.map(({ query }) => query)).toEqual([
      { labelSelector: 'a=b', limit: '500' },
      { labelSelector: 'a=b', limit: '500', continue: 'p2' },
      { labelSelector: 'a=b', limit: '500', continue: 'p3' },
    ]);
  });

  it('never asks for what a cache has', async () => {
    const { api, requests } = answering(page(['a'], 'p2'), page(['b']));
    await list(api);
    expect(requests.every(({ query }) => !('resourceVersion' in (query ?? {})))).toBe(true);
  });

  it('may be empty, as Go has it', async () => {
    expect(await list(answering({ metadata: { resourceVersion: '1' }, items: null }).api)).toEqual([]);
  });

  it('is undefined where there is no such kind', async () => {
    expect(await list(answering(answer('404')).api)).toBeUndefined();
  });

  it('begins anew when its next page has expired, with nothing of the pages before', async () => {
    const { api, requests } = answering(
      page(['a', 'old'], 'p2'),
      answer('410'),
      page(['a'], 'q2', '8'),
      page(['b'], '', '8'),
    );
    expect(await names(api)).toEqual(['a', 'b']);
    expect(requests.map(({ query }) => query?.continue)).toEqual([undefined, 'p2', undefined, 'q2']);
  });

  it('begins anew when a page is of another state, or its kind goes in between', async () => {
    expect(await names(answering(page(['a'], 'p2'), page(['x'], '', '9'), page(['b'])).api)).toEqual(['b']);
    expect(await names(answering(page(['a'], 'p2'), answer('404'), page(['b'])).api)).toEqual(['b']);
  });

  it('fails when that happens again and again', async () => {
    const { api, requests } = answering(answer('410'));
    await expect(list(api)).rejects.toMatchObject({ name: 'CallError', kind: 'refused', code: '410' });
    expect(requests).toHaveLength(4);
  });

  it('fails when it has no end', async () => {
    const { api, requests } = answering(page([], 'again'));
    await expect(list(api)).rejects.toMatchObject({ code: 'ETOOLARGE' });
    expect(requests).toHaveLength(1_000);
  });

  it('fails with a page that fails', async () => {
    const { api } = answering(page(['a'], 'p2'), new CallError('throttled', '429', 'slow down'));
    await expect(list(api)).rejects.toMatchObject({ kind: 'throttled' });
  });

  it.each([
    ['no list', pod('a'), 'a list "games/a" cannot be read: metadata.resourceVersion: expected a text, it is missing'],
    ['one object', { metadata: { resourceVersion: '1' } }, 'items: expected a list, it is missing'],
    ['nothing', undefined, 'the whole: expected an object'],
  ])('fails where %s comes', async (_, content, message) => {
    await expect(list(answering(content).api)).rejects.toThrow(message);
  });

  it('fails with one object that cannot be read, and says which, and what of it', async () => {
    const bad = { ...page(['a']), items: [pod('a'), pod('b', { spec: { nodeName: 7 } })] };
    await expect(list(answering(bad).api)).rejects.toMatchObject({
      kind: 'refused',
      code: 'EUNREADABLE',
      message: 'pods "games/b" cannot be read: spec.nodeName: expected a text, got 7',
    });
  });
});
