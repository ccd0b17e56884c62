import { expect, it } from 'vitest';
import { CallError } from '../scaler/call-error.ts';
import { cordonsText, lookAtNodes } from './scaler-cordons.ts';
import { exitOf } from './scaler-over-clusters.ts';

it('names as many nodes as a line has room for, and as many objects', () => {
  const left = (object: string, nodes: number) => ({
    object,
    nodes: Array.from({ length: nodes }, (_, at) => `n${at}`),
  });
  const objects = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => left(name, 7));
  const lines = cordonsText({ leftCordoned: objects });
  expect(lines).toHaveLength(6);
  expect(lines[0]).toBe(
    'n0, n1, n2, n3, n4 and 2 more: cordoned by a, which is gone: kubectl uncordon n0 n1 n2 n3 n4 …, or make a again',
  );
  expect(lines[5]).toBe('and nodes cordoned by 2 objects more that are gone: see --json');
  expect(cordonsText({})).toEqual([]);
});

it('says that the nodes could not be seen, beside the pools that could', async () => {
  const listNodes = async () => {
    throw new CallError('denied', '403', 'forbidden');
  };
  const nodes = await lookAtNodes({ listNodes });
  expect(nodes).toEqual({ nodesProblem: '403: forbidden' });
  expect(cordonsText({ nodesProblem: '403: forbidden' })).toEqual([
    'the nodes could not be seen, nor what is left cordoned: 403: forbidden',
  ]);
  expect(exitOf([{ cluster: 'c', pools: [], nodesProblem: '403: forbidden' }])).toBe(1);
});
