import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { FunctionDefinition, InvocationResult } from './execution-environment.ts';
import { FunctionRunner } from './function-runner.ts';
import { writeWorkerScript } from './worker-script.ts';

let directory: string;
let script: string;
let output: { stream: string; line: string; requestId: string | undefined }[] = [];
const runners: FunctionRunner[] = [];

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-functions-'));
  script = writeWorkerScript(directory);
});

afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.killAll()));
  output = [];
});

afterAll(() => rmSync(directory, { recursive: true }));

let bundles = 0;

/** A function whose bundle is `source`, an ES module. */
function functionOf(source: string, more: Partial<FunctionDefinition> & { maxConcurrency?: number } = {}) {
  const bundle = join(directory, `bundle-${++bundles}.mjs`);
  writeFileSync(bundle, source);
  const { maxConcurrency = 4, ...definition } = more;
  const runner = new FunctionRunner(
    {
      name: 'Test',
      functionName: 'test-function',
      arn: 'arn:aws:lambda:r:a:function:test-function',
      handler: 'index.handler',
      bundle,
      timeoutMs: 10_000,
      memoryMiB: 128,
      environment: { VARIABLE: 'value' },
      ...definition,
    },
    { script, maxConcurrency, onOutput: (stream, line, requestId) => output.push({ stream, line, requestId }) },
  );
  runners.push(runner);
  return runner;
}

const handler = (body: string) => functionOf(`export const handler = async (event, context) => { ${body} };`);

function outcomeOf(result: InvocationResult): unknown {
  return result.status === 'returned' ? JSON.parse(result.payload) : result.error;
}

describe('a handler', () => {
  test('gets the event and the context, and its answer is JSON', async () => {
    const runner = handler('return { event, context, remaining: context.getRemainingTimeInMillis() };');
    const result = outcomeOf(await runner.invoke({ Records: [{ body: 'ö' }], none: undefined }));
    expect(result).toEqual({
      event: { Records: [{ body: 'ö' }] },
      context: {
        awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        functionName: 'test-function',
        functionVersion: '$LATEST',
        invokedFunctionArn: 'arn:aws:lambda:r:a:function:test-function',
        memoryLimitInMB: '128',
        logGroupName: '/aws/lambda/test-function',
        logStreamName: 'local',
        callbackWaitsForEmptyEventLoop: true,
      },
      remaining: expect.toSatisfy((ms: number) => ms > 0 && ms <= 10_000),
    });
  });

  test('that returns nothing answers null', async () => {
    expect(await handler('').invoke({})).toEqual({ status: 'returned', payload: 'null' });
  });

  test('sees the variables of its function and no others', async () => {
    expect(outcomeOf(await handler('return process.env;').invoke({}))).toEqual({ VARIABLE: 'value' });
  });

  test('may be a CommonJS module', async () => {
    const bundle = join(directory, 'common.cjs');
    writeFileSync(bundle, "exports.handler = async () => 'common';");
    expect(outcomeOf(await functionOf('', { bundle }).invoke({}))).toBe('common');
  });
});

describe('environments', () => {
  const COUNTING = 'let count = 0; export const handler = async () => ++count;';

  test('are warm for the next invocation', async () => {
    const runner = functionOf(COUNTING);
    await runner.warm();
    expect([outcomeOf(await runner.invoke({})), outcomeOf(await runner.invoke({}))]).toEqual([1, 2]);
    expect(runner.statistics).toEqual({ invocations: 2, failures: 0, coldStarts: 1, running: 0 });
  });

  test('stay warm after an exception, as on Lambda', async () => {
    const runner = functionOf(
      'let count = 0; export const handler = async () => { if (++count === 1) throw Error(); return count; };',
    );
    expect((await runner.invoke({})).status).toBe('failed');
    expect(outcomeOf(await runner.invoke({}))).toBe(2);
  });

  // Each waits until all that may run have begun; were there fewer at once, it would wait for ever.
  const MEETING = `
    const channel = new BroadcastChannel('meeting-' + process.env.VARIABLE);
    const here = new Set();
    export const handler = ({ id, together }) => new Promise((resolve) => {
      here.add(id);
      const hello = setInterval(() => {
        channel.postMessage(id);
        if (here.size >= together) { clearInterval(hello); channel.postMessage(id); channel.onmessage = null; resolve(here.size); }
      }, 2);
      channel.onmessage = ({ data }) => here.add(data);
    });`;

  test('run one invocation each, side by side', async () => {
    const runner = functionOf(MEETING, { environment: { VARIABLE: 'side-by-side' } });
    const results = await Promise.all([1, 2, 3].map((id) => runner.invoke({ id, together: 3 })));
    expect(results.map(outcomeOf)).toEqual([3, 3, 3]);
    expect(runner.statistics.coldStarts).toBe(3);
  });

  test('are no more than allowed: further invocations wait for their turn, and all come to it', async () => {
    const runner = functionOf(COUNTING, { maxConcurrency: 2 });
    const results = await Promise.all(Array.from({ length: 9 }, () => runner.invoke({})));
    expect(runner.statistics).toEqual({ invocations: 9, failures: 0, coldStarts: 2, running: 0 });
    expect(results.map(outcomeOf)).toHaveLength(9);
  });
});

describe('an invocation fails', () => {
  test.each([
    {
      how: 'by an exception',
      body: "throw new RangeError('no');",
      error: { errorType: 'RangeError', errorMessage: 'no' },
    },
    {
      how: 'by something thrown that is no error',
      body: "throw 'no';",
      error: { errorType: 'string', errorMessage: 'no' },
    },
    { how: 'by an answer that is no JSON', body: 'return 1n;', error: { errorType: 'TypeError' } },
    {
      how: 'by the end of the process',
      body: 'process.exit(3);',
      error: { errorType: 'Runtime.ExitError', errorMessage: 'exited with status 3' },
    },
    {
      how: 'by an error that nobody catches',
      body: "setTimeout(() => { throw new Error('later'); }); await new Promise(() => setInterval(() => {}, 1e6));",
      error: { errorType: 'Runtime.UnhandledError', errorMessage: 'Error: later' },
    },
    {
      how: 'by a promise that nobody catches',
      body: "Promise.reject(new Error('later')); await new Promise(() => setInterval(() => {}, 1e6));",
      error: { errorType: 'Runtime.UnhandledError', errorMessage: 'Error: later' },
    },
    {
      how: 'by waiting for nothing',
      body: 'await new Promise(() => {});',
      timeoutMs: 200,
      error: { errorType: 'Sandbox.Timedout' },
    },
  ])('$how', async ({ body, error, timeoutMs }) => {
    const runner = functionOf(`export const handler = async () => { ${body} };`, timeoutMs ? { timeoutMs } : {});
    expect(await runner.invoke({})).toEqual({ status: 'failed', error: expect.objectContaining(error) });
    expect(runner.statistics.failures).toBe(1);
  });

  test.each([
    { how: 'that waits', body: 'await new Promise((resolve) => setTimeout(resolve, 1e6));' },
    { how: 'that computes', body: 'for (;;);' },
  ])('when its time is over, in a handler $how; the next runs in a new environment', async ({ body }) => {
    const runner = functionOf(
      `export const handler = async ({ late }) => { if (late) { ${body} } return 'in time'; };`,
      {
        timeoutMs: 500,
      },
    );
    expect(await runner.invoke({ late: true })).toEqual({
      status: 'failed',
      error: { errorType: 'Sandbox.Timedout', errorMessage: 'Task timed out after 0.50 seconds', trace: [] },
    });
    expect(outcomeOf(await runner.invoke({}))).toBe('in time');
    expect(runner.statistics.coldStarts).toBe(2);
  });

  test('when its time is over before its answer is taken, although there is one', async () => {
    const source = 'export const handler = () => new Promise((resolve) => setTimeout(resolve, 50));';
    const runner = functionOf(source, { timeoutMs: 100 });
    await runner.warm();
    const invocation = runner.invoke({});
    await new Promise(setImmediate);
    // The answer comes while this thread is busy, and then the timer is served first.
    const end = performance.now() + 200;
    while (performance.now() < end);
    expect(await invocation).toMatchObject({ status: 'failed', error: { errorType: 'Sandbox.Timedout' } });
  });

  test('when it needs more memory than the function has', async () => {
    const runner = functionOf(
      'export const handler = async () => { const all = []; for (;;) all.push(new Array(1000).fill({})); };',
      { memoryMiB: 32, timeoutMs: 60_000 },
    );
    expect(await runner.invoke({})).toMatchObject({ error: { errorType: 'Runtime.OutOfMemory' } });
  });

  test('when its environment is ended in the middle; the next runs in a new one', async () => {
    const runner = functionOf(
      `export const handler = async ({ wait }) => { console.log('begun'); if (wait) await new Promise((resolve) => setTimeout(resolve, 1e6)); };`,
    );
    const invocation = runner.invoke({ wait: true });
    await expect.poll(() => output.length, { timeout: 30_000 }).toBe(1);
    await runner.killAll();
    expect(await invocation).toMatchObject({ status: 'failed', error: { errorType: 'Runtime.Killed' } });
    expect(await runner.invoke({})).toEqual({ status: 'returned', payload: 'null' });
  });

  test('when the bundle does not load, and says so to whoever wants it warm', async () => {
    const runner = functionOf("throw new Error('VARIABLE is wrong');");
    expect(await runner.invoke({})).toMatchObject({ status: 'failed', error: { errorMessage: 'VARIABLE is wrong' } });
    await expect(runner.warm()).rejects.toThrow('function Test does not load: Error: VARIABLE is wrong');
    await expect(functionOf('export const other = 1;').warm()).rejects.toThrow(
      'the bundle exports no function handler',
    );
  });
});

describe('what a handler prints', () => {
  test('arrives line by line, with its invocation, before its answer', async () => {
    const runner = functionOf(`
      console.log('loading');
      export const handler = async () => { console.log('one\\ntwo'); console.error('wrong'); process.stdout.write('no end'); };`);
    await runner.invoke({});
    await runner.killAll();
    const requestId = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(output.filter(({ stream }) => stream === 'stdout')).toEqual([
      { stream: 'stdout', line: 'loading', requestId: undefined },
      { stream: 'stdout', line: 'one', requestId },
      { stream: 'stdout', line: 'two', requestId },
      { stream: 'stdout', line: 'no end', requestId },
    ]);
    expect(output.filter(({ stream }) => stream === 'stderr')).toEqual([
      { stream: 'stderr', line: 'wrong', requestId },
    ]);
  });

  test('is followed by a line for an invocation that fails', async () => {
    await handler("throw new RangeError('no');").invoke({});
    expect(output).toEqual([
      { stream: 'platform', line: expect.stringContaining('"errorType":"RangeError"'), requestId: expect.any(String) },
    ]);
  });
});
