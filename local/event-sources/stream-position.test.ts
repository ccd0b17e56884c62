import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startEngine } from '../engine.ts';
import { testFunction, testStreamMapping, testTable, writeAssembly } from '../test-assembly.ts';
import { go, HANDLER, ON_FAILURE, PATIENT, StreamBed } from './stream-test-bed.ts';

const bed = StreamBed.use();

describe('pausing', () => {
  test('waits for what runs, then invokes nothing; resuming goes on', async () => {
    await bed.start({ mapping: { BatchSize: 1 } });
    await bed.put('a/1 wait', 'a/2');
    bed.engine.eventSources.resume();
    await expect.poll(() => bed.got(), PATIENT).toHaveLength(1);
    let ended = false;
    const paused = bed.engine.eventSources.pause('Worker').then(() => {
      ended = true;
    });
    // As far as anything can be known not to happen.
    await bed.put('a/3');
    expect(ended).toBe(false);
    go();
    await paused;
    expect(bed.got()).toHaveLength(1);
    await bed.work();
    expect(bed.got()).toEqual([['a/1 wait'], ['a/2'], ['a/3']]);
  });

  test('does not wait for a change that fails again and again', async () => {
    await bed.start();
    await bed.put('a/1 throw');
    bed.engine.eventSources.resume();
    await expect.poll(() => bed.got().length, PATIENT).toBeGreaterThan(1);
    await bed.engine.eventSources.pause();
    const { length } = bed.got();
    await bed.put('a/2');
    expect(bed.got()).toHaveLength(length);
  });

  test('makes idle wait until somebody resumes, unless there is nothing', async () => {
    await bed.start();
    await bed.engine.eventSources.idle();
    await bed.put('a/1');
    let idle = false;
    const waiting = bed.engine.eventSources.idle().then(() => {
      idle = true;
    });
    await bed.put('a/2');
    expect(idle).toBe(false);
    bed.engine.eventSources.resume();
    await waiting;
    expect(bed.got().flat()).toEqual(['a/1', 'a/2']);
  });
});

describe('a starting position', () => {
  test('LATEST begins with the engine: what was written before is not read', async () => {
    await bed.start();
    await bed.put('a/before');
    const second = await startEngine({
      assembly: writeAssembly(
        join(bed.directory, 'second'),
        {
          Test: {
            Resources: {
              Things: testTable('Things'),
              Other: testFunction('other'),
              Mapping: testStreamMapping('Things', 'Other', { StartingPosition: 'LATEST' }),
            },
          },
        },
        { other: HANDLER },
      ),
      dynamodbEndpoint: bed.engine.endpoints.dynamodb,
      onLog: (line) => bed.log.push(line),
    });
    try {
      await bed.put('a/after');
      await second.eventSources.idle();
      expect(bed.got()).toEqual([['a/after']]);
    } finally {
      await second.stop();
    }
  });

  test.each(['LATEST', 'TRIM_HORIZON'])(
    '%s with a data bed.directory goes on where the last run stopped',
    async (StartingPosition) => {
      const setup = { dataDir: join(bed.directory, 'data'), mapping: { StartingPosition, BatchSize: 1 } };
      await bed.start(setup);
      await bed.put('a/1');
      await bed.work();
      await bed.engine.eventSources.pause();
      await bed.put('a/2');
      await bed.stop();
      await bed.start(setup);
      await bed.put('a/3');
      await bed.work();
      expect(bed.got()).toEqual([['a/1'], ['a/2'], ['a/3']]);
    },
  );

  test('is not moved by what did not end: an invocation that was cut off is made again', async () => {
    const setup = {
      dataDir: join(bed.directory, 'data'),
      graceMs: 100,
      mapping: { ...ON_FAILURE, MaximumRetryAttempts: 0 },
    };
    await bed.start(setup);
    await bed.put('a/1 wait');
    bed.engine.eventSources.resume();
    await expect.poll(() => bed.got(), PATIENT).toHaveLength(1);
    await bed.stop();
    bed.log = [];
    await bed.start({ ...setup, handler: HANDLER.replace('wait', 'never') });
    await bed.work();
    expect(bed.got()).toEqual([['a/1 wait']]);
    expect(await bed.failed()).toEqual([]);
  });
});
