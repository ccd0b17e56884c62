import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { berthCommand } from '../../test/support/command.ts';
import { RetryError, storeError } from '../store/errors.ts';
import { type Endpoint, NoAnswerError, Patience } from './patience.ts';

const REMOTE: Endpoint = { protocol: 'https:', hostname: 'dynamodb.eu-central-1.amazonaws.com' };
const LOCAL: Endpoint = { protocol: 'http:', hostname: '127.0.0.1', port: 4566 };
const refused = () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

/** A patience whose time goes on by hand. */
function bed(env: Readonly<Record<string, string>> = {}) {
  let now = 0;
  let due: { call: () => void; at: number } | undefined;
  const lines: string[] = [];
  const patience = new Patience(env, (line) => lines.push(line), {
    now: () => now,
    later(call, ms) {
      due = { call, at: now + ms };
      return () => {
        due = undefined;
      };
    },
  });
  return {
    lines,
    patience,
    pass(ms: number) {
      now += ms;
      if (due === undefined || due.at > now) return;
      const { call } = due;
      due = undefined;
      call();
    },
    fail: (endpoint: Endpoint, error: Error = refused()): Promise<Error> =>
      patience.attempt('dynamodb', endpoint, () => Promise.reject(error)).catch((thrown: Error) => thrown),
    answer: () => patience.attempt('dynamodb', REMOTE, async () => 'answer'),
  };
}

it('tells after a second what is waited for, once', async () => {
  const { lines, pass, fail } = bed();
  await fail(REMOTE);
  pass(999);
  await fail(REMOTE);
  expect(lines).toEqual([]);
  pass(1);
  await fail(REMOTE);
  pass(5_000);
  expect(lines).toEqual([
    'DynamoDB at https://dynamodb.eu-central-1.amazonaws.com does not answer (ECONNREFUSED); trying on for up to 20 s',
  ]);
});

it('tells nothing of what is answered within a second, and nothing once the command is over', async () => {
  const { lines, pass, fail, answer, patience } = bed();
  await fail(REMOTE);
  pass(500);
  expect(await answer()).toBe('answer');
  pass(5_000);
  await fail(REMOTE);
  patience.close();
  pass(5_000);
  expect(lines).toEqual([]);
});

it('gives up what has not answered for 20 s, and says what to look at', async () => {
  const { pass, fail } = bed();
  await fail(REMOTE);
  pass(19_999);
  expect(await fail(REMOTE)).not.toBeInstanceOf(NoAnswerError);
  pass(1);
  const end = await fail(REMOTE, Object.assign(new Error('late'), { name: 'TimeoutError' }));
  expect(end).toBeInstanceOf(NoAnswerError);
  // Nor does the client try again: that would be for minutes.
  expect(storeError(end).name).toBe('BugError');
  expect(end.cause).toBeUndefined();
  expect(end.message).toMatch(
    /does not answer \(TimeoutError\): is AWS_REGION right, and does the network reach AWS\?$/,
  );
});

it.each([
  [{ AWS_ENDPOINT_URL_DYNAMODB: 'u', AWS_ENDPOINT_URL: 'v' }, 'AWS_ENDPOINT_URL_DYNAMODB'],
  [{ AWS_ENDPOINT_URL: 'v' }, 'AWS_ENDPOINT_URL'],
])('gives up an address of this machine that refuses within two seconds: %o', async (env, variable) => {
  const { pass, fail, lines } = bed(env);
  await fail(LOCAL);
  pass(1_499);
  expect(await fail(LOCAL)).not.toBeInstanceOf(NoAnswerError);
  pass(1);
  expect((await fail(LOCAL)).message).toBe(
    `DynamoDB at http://127.0.0.1:4566 does not answer (ECONNREFUSED): is the engine running (npm start)? Is ${variable} right?`,
  );
  expect(lines).toEqual(['DynamoDB at http://127.0.0.1:4566 does not answer (ECONNREFUSED); trying on for up to 2 s']);
});

it('leaves to the client how long it goes on with what was there', async () => {
  const { pass, fail, answer, lines } = bed();
  await answer();
  await fail(REMOTE);
  pass(60_000);
  expect(await fail(REMOTE)).toMatchObject({ code: 'ECONNREFUSED' });
  expect(lines).toEqual([expect.stringMatching(/\(ECONNREFUSED\); trying on$/)]);
});

it('explains an error that the client made of a try', async () => {
  const { patience, fail } = bed();
  const error = refused();
  await fail(REMOTE, error);
  const made = new RetryError('away', { cause: error });
  expect(patience.explained(made)).toMatchObject({ name: 'NoAnswerError', cause: made });
  const other = new RetryError('away', { cause: refused() });
  expect(patience.explained(other)).toBe(other);
});

it('does not take for silence what the command itself gave up', async () => {
  const { patience, fail } = bed();
  const aborted = Object.assign(new Error('given up'), { name: 'AbortError' });
  expect(await fail(REMOTE, aborted)).toBe(aborted);
  expect(patience.explained(aborted)).toBe(aborted);
});

it.each([
  ['pool list', ['pool', 'list'], 'DynamoDB'],
  ['a deployment that is looked for', ['pool', 'list', '--prefix', 'Berth'], 'SQS'],
])('is what a command has: %s', async (_, words, service) => {
  const nobody = await unusedUrl();
  const env = {
    ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_ENDPOINT_URL: nobody },
    ...Object.fromEntries(
      ['NODES', 'TASKS', 'PLANS', 'POOLS', 'REJECTIONS', 'SERVICES'].map((name) => [`BERTH_TABLE_${name}`, name]),
    ),
    BERTH_QUEUE_PLANS: `${nobody}/1/plans.fifo`,
  };
  const { status, out, err } = await berthCommand(env, words);
  expect([status, out]).toEqual([1, '']);
  const away = `${service} at ${nobody} does not answer (ECONNREFUSED)`;
  expect(err).toBe(
    `${away}; trying on for up to 2 s\nberth: ${away}: is the engine running (npm start)? Is AWS_ENDPOINT_URL right?\n`,
  );
});

/** Of a port on which nobody listens any more. */
async function unusedUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
