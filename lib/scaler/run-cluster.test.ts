import { beforeEach, describe, expect, test } from 'vitest';
import { OBJECT } from '../../test/scaler/bed.ts';
import { ClusterBed, Dead, MINUTE_MS, REFUSED } from '../../test/scaler/cluster-bed.ts';
import type { EpochMs } from '../time.ts';

let bed: ClusterBed;

beforeEach(() => {
  bed = new ClusterBed();
});

describe('a tick with nothing to do', () => {
  const IDLE = ['begin', 'reach', 'list', 'validate', 'describe', 'snapshot', 'end'];

  test('writes its status once, and then asks for what it must see and changes nothing', async () => {
    expect(await bed.run()).toMatchObject({ kind: 'done', errors: [], abandoned: [] });
    expect(bed.calls).toEqual([...IDLE.slice(0, -1), 'writeStatus', 'end']);
    bed.later(MINUTE_MS);
    bed.turns.requests = 0;
    await bed.run();
    expect(bed.calls).toEqual(IDLE);
    expect(bed.turns.requests).toBe(2);
    expect(bed.told()).toEqual([]);
  });

  test('costs two requests to the table with many objects as well', async () => {
    bed.objects = Array.from({ length: 20 }, (_, nth) => bed.objectOf(`object-${nth}`));
    await bed.run();
    expect(bed.turns.requests).toBe(2);
  });
});

test('a bug with one object is thrown once all others have been told of', async () => {
  bed.objects = [bed.objectOf(OBJECT), bed.objectOf('younger', { createdAt: (bed.now + 1) as EpochMs })];
  bed.meanwhile = (name) => {
    if (name === 'validate') throw new TypeError('Invalid URL');
  };
  await expect(bed.run()).rejects.toThrow('Invalid URL');
  expect(bed.calls).toEqual(expect.arrayContaining(['writeStatus', 'end']));
});

describe('a tick is not run', () => {
  test('a second time, nor after a later one', async () => {
    const first = bed.now;
    await bed.run();
    expect(await bed.run(first)).toEqual({ kind: 'past' });
    expect(bed.calls).toEqual(['begin']);
    expect(await bed.run((first - MINUTE_MS) as EpochMs)).toEqual({ kind: 'past' });
  });

  test('while another is at it, or has died a moment ago', async () => {
    bed.dies = { after: 2, arrives: true };
    await expect(bed.run()).rejects.toThrow(Dead);
    bed.dies = undefined;
    bed.later(MINUTE_MS);
    expect(await bed.run()).toEqual({ kind: 'held' });
    expect(bed.calls).toEqual(['begin']);
    bed.later(MINUTE_MS);
    expect(await bed.run()).toMatchObject({ kind: 'done' });
  });
});

describe('a cluster', () => {
  test('without the kind is left alone, quietly', async () => {
    bed.objects = undefined;
    expect(await bed.run()).toEqual({ kind: 'no-kind' });
    expect(bed.calls).toEqual(['begin', 'reach', 'list', 'end']);
  });

  test.each(['reach', 'list'])('of which %s fails is unobserved, and its turn is given back', async (label) => {
    bed.refuse(label);
    expect(await bed.run()).toEqual({ kind: 'unobserved', error: REFUSED });
    bed.later(1);
    bed.recover();
    expect(await bed.run()).toMatchObject({ kind: 'done' });
  });

  test('whose turn cannot be given back says so', async () => {
    bed.refuse('end');
    expect(await bed.run()).toMatchObject({ kind: 'done', unreleased: REFUSED });
  });

  test('is given back when a bug ends the tick, which goes on to who runs it', async () => {
    bed.meanwhile = (name) => {
      if (name === 'snapshot') throw new TypeError('a bug');
    };
    await expect(bed.run()).rejects.toThrow('a bug');
    expect(bed.calls.at(-1)).toBe('end');
    bed.later(1);
    bed.recover();
    expect(await bed.run()).toMatchObject({ kind: 'done' });
  });
});
