import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand, ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { totalUsage } from './dynamodb/usage.ts';
import { type Engine, type EngineOptions, startEngine } from './engine.ts';
import type { LogLine } from './log.ts';
import { testFifoQueue, testFunction, testMapping, writeAssembly } from './test-assembly.ts';

let directory: string;
const engines: Engine[] = [];
const clients: { destroy(): void }[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-engine-test-'));
  // Other tests start engines at the same time: what is looked for here must be of this one.
  mkdirSync(join(directory, 'tmp'));
  vi.stubEnv('TMPDIR', join(directory, 'tmp'));
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await Promise.all(engines.splice(0).map((engine) => engine.stop()));
  rmSync(directory, { recursive: true });
});

const TABLE = {
  Type: 'AWS::DynamoDB::Table',
  Properties: {
    TableName: 'Things',
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
    TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
  },
};

/** Writes what it gets to the table, by the plainest means there is, and prints where it found things. */
const HANDLER = `
  export const handler = async ({ Records }) => {
    for (const { messageId, body } of Records) {
      const answer = await fetch(process.env.AWS_ENDPOINT_URL_DYNAMODB, {
        method: 'POST',
        headers: {
          'x-amz-target': 'DynamoDB_20120810.PutItem',
          'content-type': 'application/x-amz-json-1.0',
          authorization: 'AWS4-HMAC-SHA256 Credential=local/20270101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=x',
          'x-amz-date': '20270101T000000Z',
        },
        body: JSON.stringify({ TableName: process.env.TABLE, Item: { id: { S: body } }, ReturnConsumedCapacity: 'INDEXES' }),
      });
      if (!answer.ok) throw new Error(await answer.text());
    }
    console.log(JSON.stringify({ queue: process.env.QUEUE, stream: process.env.STREAM }));
  };`;

function assembly(table: object = TABLE): string {
  const awsUrl = `https://sqs.\${AWS::Region}.\${AWS::URLSuffix}/\${AWS::AccountId}/plans.fifo`;
  return writeAssembly(
    join(directory, 'assembly'),
    {
      State: { Resources: { Things: table, Plans: testFifoQueue('plans.fifo') } },
      Functions: {
        Resources: {
          WriterFunction01234567: testFunction('writer', {
            Environment: {
              Variables: { TABLE: 'Things', QUEUE: { 'Fn::Sub': awsUrl } },
            },
          }),
          Mapping: testMapping('Plans', 'WriterFunction01234567', {
            EventSourceArn: { 'Fn::Sub': `arn:aws:sqs:\${AWS::Region}:\${AWS::AccountId}:plans.fifo` },
          }),
        },
      },
    },
    { writer: HANDLER },
  );
}

async function start(options: EngineOptions = {}): Promise<Engine> {
  const engine = await startEngine({ assembly: options.assembly ?? assembly(), ...options });
  engines.push(engine);
  return engine;
}

type Reachable = Pick<Engine, 'endpoints' | 'queues'>;

function sqsOf(engine: Reachable): SQSClient {
  const client = new SQSClient({ endpoint: engine.endpoints.sqs });
  clients.push(client);
  return client;
}

function dynamoOf(engine: Reachable): DynamoDBClient {
  const client = new DynamoDBClient({ endpoint: engine.endpoints.dynamodb });
  clients.push(client);
  return client;
}

const urlOf = (engine: Reachable) => engine.queues.get('plans.fifo')?.url;

const send = (engine: Reachable, body: string, group = 'a') =>
  sqsOf(engine).send(
    new SendMessageCommand({
      QueueUrl: urlOf(engine),
      MessageBody: body,
      MessageGroupId: group,
      MessageDeduplicationId: encodeURIComponent(body),
    }),
  );

const thing = async (engine: Reachable, id: string) =>
  (await dynamoOf(engine).send(new GetItemCommand({ TableName: 'Things', Key: { id: { S: id } } }))).Item;

describe('an engine', () => {
  test('runs what the template says: a message reaches the function, and the function the table', async () => {
    const log: LogLine[] = [];
    const engine = await start({ onLog: (line) => log.push(line) });
    await send(engine, 'one');
    await engine.eventSources.idle();
    expect(await thing(engine, 'one')).toEqual({ id: { S: 'one' } });
    // The URL as AWS would have it became that of the queue here.
    expect(log.map(({ source, line }) => [source, JSON.parse(line)])).toEqual([['Writer', { queue: urlOf(engine) }]]);
  });

  test('meters functions and clients apart', async () => {
    const engine = await start();
    await send(engine, 'one');
    await engine.eventSources.idle();
    await thing(engine, 'one');
    expect(totalUsage(engine.meter.read().Writer)).toMatchObject({
      requests: 1,
      items: 1,
      writeUnits: 1,
      readUnits: 0,
    });
    expect(Object.keys(engine.meter.read().client ?? {})).toEqual(['GetItem']);
  });

  test('creates tables with stream and expiry', async () => {
    const engine = await start();
    const { Table } = await dynamoOf(engine).send(new DescribeTableCommand({ TableName: 'Things' }));
    expect(Table?.StreamSpecification).toEqual({ StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' });
    const ttl = await dynamoOf(engine).send(new DescribeTimeToLiveCommand({ TableName: 'Things' }));
    expect(ttl.TimeToLiveDescription).toMatchObject({ AttributeName: 'expiresAt', TimeToLiveStatus: 'ENABLED' });
  });

  test('can leave functions alone until it is told otherwise', async () => {
    const engine = await start({ paused: ['Writer'] });
    await send(engine, 'one');
    // A source that runs would wait for the message and have it by now.
    const input = { QueueUrl: urlOf(engine), VisibilityTimeout: 0 };
    expect((await sqsOf(engine).send(new ReceiveMessageCommand(input))).Messages).toHaveLength(1);
    engine.eventSources.resume('Writer');
    await engine.eventSources.idle('Writer');
    expect(await thing(engine, 'one')).toBeDefined();
  });

  test('gives all queues another visibility time-out on request', async () => {
    const engine = await start({ visibilitySeconds: 7 });
    const { Attributes } = await sqsOf(engine).send(
      new GetQueueAttributesCommand({ QueueUrl: urlOf(engine), AttributeNames: ['VisibilityTimeout'] }),
    );
    expect(Attributes).toEqual({ VisibilityTimeout: '7' });
  });

  test('does not get into the way of another', async () => {
    const assemblyOfBoth = assembly();
    const [one, two] = await Promise.all([start({ assembly: assemblyOfBoth }), start({ assembly: assemblyOfBoth })]);
    await Promise.all([send(one, 'for one'), send(two, 'for two')]);
    await Promise.all([one.eventSources.idle(), two.eventSources.idle()]);
    expect(await thing(one, 'for one')).toBeDefined();
    expect(await thing(one, 'for two')).toBeUndefined();
    expect(await thing(two, 'for two')).toBeDefined();
  });

  test('works with a DynamoDB and an SQS that run already', async () => {
    const services = await start({ paused: 'all' });
    const engine = await start({ dynamodbEndpoint: services.endpoints.dynamodb, sqsEndpoint: services.endpoints.sqs });
    await send(engine, 'one');
    await engine.eventSources.idle();
    expect(await thing(services, 'one')).toBeDefined();
    expect(urlOf(engine)).toBe(urlOf(services));
    expect(engine.foreign).toEqual(services.endpoints);
  });

  test('works with those that somebody has named in the environment', async () => {
    const services = await start({ paused: 'all' });
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', services.endpoints.dynamodb);
    vi.stubEnv('AWS_ENDPOINT_URL_SQS', services.endpoints.sqs);
    const engine = await start({ paused: 'all' });
    expect(engine.foreign).toEqual(services.endpoints);
    expect(urlOf(engine)).toBe(urlOf(services));
  });

  test('keeps off another engine, in the environment of whose clients it is started, and says so', async () => {
    const other = await start({ paused: 'all' });
    for (const [name, value] of Object.entries(other.env)) vi.stubEnv(name, value);
    const steps: string[] = [];
    const engine = await start({ onProgress: (step) => steps.push(step) });
    await send(engine, 'one');
    await engine.eventSources.idle();
    expect(await thing(engine, 'one')).toBeDefined();
    expect(await thing(other, 'one')).toBeUndefined();
    expect(urlOf(engine)).not.toBe(urlOf(other));
    expect(engine.foreign).toEqual({});
    expect(steps[0]).toBe(
      "AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_SQS of berth.env are another engine's: not used",
    );
  });
});

/** Processes that this one started, and what they started. */
function descendants(): string[] {
  const all = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,args=']).toString().trim().split('\n');
  const rows = all.map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []);
  const below = (parent: string): string[] =>
    rows.flatMap(([, pid, ppid, args]) =>
      ppid === parent && args !== undefined && !args.startsWith('ps ') ? [args, ...below(pid ?? '')] : [],
    );
  return below(String(process.pid)).filter((args) => /dynoxide|guard/.test(args));
}

/** Not the cache of tsx, which is there for every program of TypeScript. */
const temporaryFiles = () => readdirSync(join(directory, 'tmp')).filter((name) => name.startsWith('berth-'));

describe('nothing is left behind', () => {
  test('by an engine that was stopped: no process, no file', async () => {
    const engine = await start();
    expect(descendants().filter((args) => args.includes('dynoxide --host'))).not.toEqual([]);
    expect(temporaryFiles()).toHaveLength(1);
    await send(engine, 'one');
    await engine.stop();
    await engine.stop();
    expect(descendants()).toEqual([]);
    expect(temporaryFiles()).toEqual([]);
    await expect(fetch(engine.endpoints.sqs)).rejects.toThrow();
    await expect(fetch(engine.endpoints.dynamodb)).rejects.toThrow();
  });

  test.each([
    { what: 'has no DynamoDB', options: { dynamodbEndpoint: 'http://127.0.0.1:9' }, message: /ECONNREFUSED/ },
    {
      what: 'has a template that cannot be run',
      template: { Type: 'AWS::Kinesis::Stream' },
      message: /nothing for the type/,
    },
  ])('by an engine that $what', async ({ options, template, message }) => {
    const data = join(directory, 'data');
    await expect(start({ dataDir: data, assembly: assembly(template), ...options })).rejects.toThrow(message);
    expect(descendants()).toEqual([]);
    expect(temporaryFiles()).toEqual([]);
    expect(existsSync(join(data, 'lock'))).toBe(false);
  });

  test('by an invocation that never ends: it is cut off', async () => {
    const hanging = writeAssembly(
      join(directory, 'hanging'),
      {
        Test: {
          Resources: {
            Plans: testFifoQueue('plans.fifo'),
            Hanging: testFunction('hanging', { Timeout: 900 }),
            Mapping: testMapping('Plans', 'Hanging'),
          },
        },
      },
      {
        hanging:
          "export const handler = () => { console.log('begun'); return new Promise((resolve) => setTimeout(resolve, 1e6)); };",
      },
    );
    const log: LogLine[] = [];
    const engine = await start({ assembly: hanging, graceMs: 100, onLog: (line) => log.push(line) });
    await send(engine, 'one');
    await expect.poll(() => log.map(({ line }) => line), { timeout: 30_000 }).toContain('begun');
    await engine.stop();
    expect(log.at(-1)?.line).toContain('Runtime.Killed');
  });
});

/** Processes that have `text` in their command line. */
function processesWith(text: string): number[] {
  const all = execFileSync('ps', ['-e', '-o', 'pid=,args=']).toString().trim().split('\n');
  return all.filter((line) => line.includes(text)).map((line) => Number.parseInt(line, 10));
}

test('an engine whose database ends says so', async () => {
  const dataDir = join(directory, 'data');
  const engine = await start({ dataDir });
  for (const pid of processesWith(`--db-path ${dataDir}`)) process.kill(pid, 'SIGKILL');
  expect((await engine.failed).message).toContain('the local DynamoDB ended with status');
});

describe('a data directory', () => {
  test('keeps tables and messages over a restart', async () => {
    const dataDir = join(directory, 'data');
    const before = await start({ dataDir });
    await send(before, 'done');
    await before.eventSources.idle();
    await before.eventSources.pause();
    await send(before, 'waiting');
    await before.stop();

    const after = await start({ dataDir, visibilitySeconds: 7 });
    const asked = { QueueUrl: urlOf(after), AttributeNames: ['VisibilityTimeout' as const] };
    expect((await sqsOf(after).send(new GetQueueAttributesCommand(asked))).Attributes).toEqual({
      VisibilityTimeout: '7',
    });
    await after.eventSources.idle();
    expect(await thing(after, 'done')).toBeDefined();
    expect(await thing(after, 'waiting')).toBeDefined();
    expect(readFileSync(join(dataDir, 'engine.log'), 'utf8')).toContain('Writer: {"queue"');
  });

  test('keeps them over kill -9, which leaves no process and no temporary file behind', async () => {
    const dataDir = join(directory, 'data');
    const script = join(directory, 'engine.mts');
    const module = JSON.stringify(fileURLToPath(new URL('engine.ts', import.meta.url)));
    writeFileSync(
      script,
      `import { startEngine } from ${module};
       const options = ${JSON.stringify({ dataDir, assembly: assembly(), paused: 'all' })};
       const { endpoints, queues } = await startEngine(options);
       console.log(JSON.stringify({ endpoints, queues: [...queues] }));`,
    );
    const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    clients.push({ destroy: () => child.kill('SIGKILL') });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const { endpoints, queues } = JSON.parse(line.toString());
    const other: Reachable = { endpoints, queues: new Map(queues) };
    await dynamoOf(other).send(new PutItemCommand({ TableName: 'Things', Item: { id: { S: 'written' } } }));
    await send(other, 'in flight');
    await send(other, 'waiting', 'b');
    await sqsOf(other).send(new ReceiveMessageCommand({ QueueUrl: urlOf(other), MaxNumberOfMessages: 1 }));
    expect(processesWith(dataDir)).not.toEqual([]);
    expect(temporaryFiles()).toHaveLength(1);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await expect.poll(() => processesWith(dataDir), { timeout: 30_000 }).toEqual([]);
    await expect.poll(temporaryFiles, { timeout: 30_000 }).toEqual([]);

    const after = await start({ dataDir });
    await after.eventSources.idle();
    for (const id of ['written', 'in flight', 'waiting']) expect(await thing(after, id)).toEqual({ id: { S: id } });
  });

  test('is not shared: a second engine is refused', async () => {
    const dataDir = join(directory, 'data');
    const shared = assembly();
    await start({ dataDir, assembly: shared });
    await expect(start({ dataDir, assembly: shared })).rejects.toThrow('two cannot share a data directory');
  });

  test('of a version with other keys is refused', async () => {
    const dataDir = join(directory, 'data');
    await (await start({ dataDir })).stop();
    const other = structuredClone(TABLE);
    for (const key of [...other.Properties.KeySchema, ...other.Properties.AttributeDefinitions])
      key.AttributeName = 'other';
    await expect(start({ dataDir, assembly: assembly(other) })).rejects.toThrow(
      'table Things has other keys or indexes than this version of Berth: id, expected other',
    );
  });
});
