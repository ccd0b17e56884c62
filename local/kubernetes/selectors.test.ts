import { describe, expect, test } from 'vitest';
import type { KubeObject } from './kube-object.ts';
import { BUILT_IN, type ResourceType } from './resource-type.ts';
import { fieldSelector, labelSelector } from './selectors.ts';

function typeOf(resource: string): ResourceType {
  return BUILT_IN.find((type) => type.resource === resource) as ResourceType;
}

function object(labels: Record<string, string>, more: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'n', labels }, ...more } as KubeObject;
}

describe('labels', () => {
  test.each([
    ['', true],
    ['app=game', true],
    ['app==game,tier=1', true],
    ['app=game,tier=2', false],
    ['app!=game', false],
    ['other!=game', true],
    ['app', true],
    ['!app', false],
    ['!other', true],
    ['app in (web, game)', true],
    ['app in (web),tier', false],
    ['app notin (web,db),tier in (1)', true],
    ['other notin (web)', true],
    ['agones.dev/role=gameserver', true],
  ])('%s', (selector, matches) => {
    const labels = { app: 'game', tier: '1', 'agones.dev/role': 'gameserver' };
    expect(labelSelector(selector)(object(labels))).toBe(matches);
  });

  test('that nobody understands are a bad request', () => {
    expect(() => labelSelector('a in b')).toThrow(expect.objectContaining({ status: 400 }));
  });
});

describe('fields', () => {
  test.each([
    ['metadata.name=a', true],
    ['metadata.namespace=n,metadata.name!=a', false],
    ['spec.nodeName=node-1', true],
    ['spec.nodeName=node-1,status.phase!=Failed,status.phase!=Succeeded', true],
    ['status.phase=Failed', false],
  ])('of pods: %s', (selector, matches) => {
    const pod = object({}, { spec: { nodeName: 'node-1' }, status: { phase: 'Running' } });
    expect(fieldSelector(selector, typeOf('pods'))(pod)).toBe(matches);
  });

  test('of events are those of what they are about', () => {
    const event = object({}, { involvedObject: { kind: 'Node', name: 'x' } });
    expect(fieldSelector('involvedObject.name=x,involvedObject.kind=Node', typeOf('events'))(event)).toBe(true);
  });

  test('of nodes say whether they are cordoned', () => {
    expect(fieldSelector('spec.unschedulable=false', typeOf('nodes'))(object({}))).toBe(true);
  });

  test('that a resource is not selected by are a bad request', () => {
    expect(() => fieldSelector('status.nodeName=x', typeOf('gameservers'))).toThrow(
      expect.objectContaining({ status: 400, message: 'field label not supported: status.nodeName' }),
    );
  });
});
