import { readFileSync } from 'node:fs';
import {
  BatchGetItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { faultyClient } from '../../test/support/faulty-client.ts';
import { deliveryOf } from '../../test/support/plans.ts';
import { applyPlans } from '../plans/apply.ts';
import { WindowCache } from '../plans/window-cache.ts';
import { planStore } from '../store/plan-store.ts';
import { quarantine } from '../store/queue.ts';
import { DEFAULT_PREFIX, queuePhysicalName } from '../store/tables.ts';
import type { EpochMs } from '../time.ts';
import { berthOver } from './berth.ts';
import { type Berth, type PlanInput, SweepFailedError } from './index.ts';

/** What each policy of docs/policies grants, as `action resource`. */
function grantedBy(policy: string): string[] {
  const file = new URL(`../../docs/policies/${policy}.json`, import.meta.url);
  const { Version, Statement } = JSON.parse(readFileSync(file, 'utf8')) as {
    Version: string;
    Statement: { Effect: string; Action: string[]; Resource: string[] }[];
  };
  expect(Version).toBe('2012-10-17');
  return Statement.flatMap(({ Effect, Action, Resource }) => {
    expect(Effect).toBe('Allow');
    return Action.flatMap((action) => Resource.map((resource) => `${action} ${resource}`));
  }).sort();
}

const tableArn = (name: string | undefined, index?: string) =>
  `arn:aws:dynamodb:REGION:ACCOUNT:table/${DEFAULT_PREFIX}-${name}${index === undefined ? '' : `/index/${index}`}`;
const queueArn = (url: string | undefined) => `arn:aws:sqs:REGION:ACCOUNT:${DEFAULT_PREFIX}-${url?.split('/').at(-1)}`;

/** Permissions that AWS asks for before it answers a request. Those of a transaction are asked for action by action. */
function permissionsOf(command: object): string[] {
  const on = (action: string, table: string | undefined, index?: string) =>
    `dynamodb:${action} ${tableArn(table, index)}`;
  if (command instanceof GetItemCommand) return [on('GetItem', command.input.TableName)];
  if (command instanceof PutItemCommand) return [on('PutItem', command.input.TableName)];
  if (command instanceof UpdateItemCommand) return [on('UpdateItem', command.input.TableName)];
  if (command instanceof QueryCommand) return [on('Query', command.input.TableName, command.input.IndexName)];
  if (command instanceof ScanCommand) return [on('Scan', command.input.TableName)];
  if (command instanceof BatchGetItemCommand) {
    return Object.keys(command.input.RequestItems ?? {}).map((table) => on('BatchGetItem', table));
  }
  if (command instanceof TransactGetItemsCommand) {
    return (command.input.TransactItems ?? []).map(({ Get }) => on('GetItem', Get?.TableName));
  }
  if (command instanceof TransactWriteItemsCommand) {
    return (command.input.TransactItems ?? []).flatMap(({ Put, Update, Delete }) => [
      ...(Put ? [on('PutItem', Put.TableName)] : []),
      ...(Update ? [on('UpdateItem', Update.TableName)] : []),
      ...(Delete ? [on('DeleteItem', Delete.TableName)] : []),
    ]);
  }
  const { QueueUrl } = (command as { input: { QueueUrl?: string } }).input;
  if (QueueUrl === undefined) throw new Error(`no permission is known for ${command.constructor.name}`);
  // A batch needs the permission of the single request.
  return [`sqs:${command.constructor.name.replace(/(Batch)?Command$/, '')} ${queueArn(QueueUrl)}`];
}

let bed: BerthBed;
let berth: Berth;
let asked: Set<string>;

beforeAll(async () => {
  bed = await startBerthBed();
  const recording = <C extends { send: unknown }>(client: C): C => {
    const send = async (command: object, ...rest: unknown[]) => {
      for (const permission of permissionsOf(command)) asked.add(permission);
      return (client.send as (...args: unknown[]) => Promise<unknown>)(command, ...rest);
    };
    return new Proxy(client, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
  };
  berth = berthOver({
    ...bed.connection,
    dynamo: recording(bed.connection.dynamo),
    sqs: recording(bed.connection.sqs),
    // As of a client that has just been started.
    shards: new Map(),
  });
  await bed.berth.registerPool({ pool: 'prod', shards: 1 });
  const nodes = Array.from({ length: 20 }, (_, n) => ({ pool: 'prod', nodeId: `n${n}`, capacity: { cpu: 1000 } }));
  await bed.berth.registerNodes(nodes);
});
afterAll(() => bed.stop());
beforeEach(() => {
  asked = new Set();
});

let plans = 0;
function newPlan(wants: object = {}) {
  const planId = `plan-${plans++}`;
  const task = { taskId: `${planId}-t`, serviceId: 'web', slot: plans, nodeId: 'n1', ...wants };
  return { planId, pool: 'prod', placements: [task] };
}

async function placed(wants: object = {}) {
  const plan = newPlan(wants);
  await bed.berth.push(plan);
  await bed.applyWaiting();
  const [task] = plan.placements;
  if (!task) throw new Error('no task');
  const { taskId, serviceId, slot, nodeId } = task;
  return { taskId, serviceId, slot, nodeId };
}

async function asWorker(): Promise<void> {
  await berth.pool('prod');
  const since = await berth.snapshot('prod');
  await placed();
  await bed.berth.registerNode({ pool: 'prod', nodeId: 'n1', capacity: { cpu: 999 } });
  await berth.snapshot('prod', { since });
  const plan = newPlan();
  await berth.push(plan);
  await bed.applyWaiting();
  await berth.submit(plan);
  await berth.result(plan.planId);
}

async function asAgent(): Promise<void> {
  await berth.registerNode({ pool: 'prod', nodeId: 'n1', capacity: { cpu: 1000 } });
  await berth.setNodeStatus('prod', 'n1', 'disconnected');
  await berth.setNodeStatus('prod', 'n1', 'ready');
  await berth.reportTask(await placed(), { state: 'running' });
  await berth.reportTask(await placed({ ports: [{ ip: '10.0.0.1', value: 80 }] }), { state: 'failed' });
  // More claims than conditions can say: the account is read.
  const ports = Array.from({ length: 30 }, (_, at) => ({ ip: '10.0.0.1', value: 8000 + at }));
  await berth.reportTask(await placed({ ports }), { state: 'failed' });
}

async function asOperator(): Promise<void> {
  await berth.registerPool({ pool: 'other' });
  await berth.changePool('other', { stopRelease: 'terminal' });
  await berth.pools();
  await berth.node('prod', 'n1');
  await berth.setEligibility('prod', 'n2', 'ineligible');
  await berth.setDrain('prod', 'n2', true);
  await placed({ nodeId: 'n3' });
  await berth.removeNode('prod', 'n3', { force: true });
  await berth.check(newPlan());
  await berth.planRecord('plan-0');
  await berth.audit('prod', { mend: true });
  await giveUpPlan();
  await quarantine(bed.sqs, bed.queues.quarantine, 'x', { reason: 'r', messageId: 'm', group: 'prod', source: 's' });
  const letter = { QueueUrl: bed.queues.plansDead, MessageGroupId: 'prod', MessageBody: '{}' };
  await bed.sqs.send(new SendMessageCommand({ ...letter, MessageDeduplicationId: 'd' }));
  await berth.setService({ serviceId: 'web', mode: 'replicated' });
  await berth.services();
  await berth.scaleService('web', [[900, 901]]);
  await berth.removeService('web');
  await berth.setHistoryLimit(3);
  const sweepId = await berth.sweep();
  await berth.sweepRecord(sweepId);
  const page = { apiVersion: 'berth/v1', kind: 'SweepPage', reason: 'request', sweepId };
  const failed = { QueueUrl: bed.queues.reaperFailures, MessageBody: JSON.stringify(page) };
  await bed.sqs.send(new SendMessageCommand(failed));
  await expect(berth.waitForSweep(sweepId)).rejects.toThrow(SweepFailedError);
  await berth.taskHistory('web#1');
  for (const messages of [berth.quarantine, berth.deadLetters]) {
    await messages.list();
    await messages.redrive('all');
  }
}

/** Gives up a plan that has reserved new tasks and the stop of one that is there. */
async function giveUpPlan(): Promise<void> {
  const there = await placed({ nodeId: 'n4' });
  const { planId, placements } = newPlan();
  const [one] = placements;
  const many = Array.from({ length: 210 }, (_, at) => ({ ...one, taskId: `${planId}-${at}`, slot: 10_000 + at }));
  const plan = { planId, pool: 'prod', allAtOnce: true, stops: [there], placements: many };
  const { client, killed } = faultyClient(bed.connection.dynamo, ({ name }) =>
    name === 'TransactWriteItems' ? 'kill-after' : undefined,
  );
  const applied = applyPlans([deliveryOf(plan as PlanInput)], {
    store: planStore(client, bed.database.tables),
    ...{ clock: bed.connection.clock, deadline: (bed.now + 60_000) as EpochMs, sleep: async () => undefined },
    ...{ random: () => 0.5, pools: new Map(), windows: new WindowCache() },
  });
  expect(await Promise.race([applied, killed])).toBe('killed');
  const letter = { QueueUrl: bed.queues.plansDead, MessageGroupId: 'prod', MessageBody: JSON.stringify(plan) };
  await bed.sqs.send(new SendMessageCommand({ ...letter, MessageDeduplicationId: planId }));
  expect(await berth.deadLetters.discard('all')).toMatchObject([{ result: { status: 'rejected' } }]);
}

describe('the policy of docs/policies for', () => {
  it('a worker grants what its calls send, no less and no more', async () => {
    await asWorker();
    expect(grantedBy('worker')).toEqual([...asked].sort());
  });

  it('an agent grants what its calls send, no less and no more', async () => {
    await asAgent();
    expect(grantedBy('agent')).toEqual([...asked].sort());
  });

  it('an operator grants what all calls and the command send, no less and no more', async () => {
    await asWorker();
    await asAgent();
    await asOperator();
    // The command asks for the URLs of queues that it knows by the prefix.
    const urls = (['plans', 'plansDead', 'quarantine', 'sweep', 'reaperFailures'] as const).map(
      (queue) => `sqs:GetQueueUrl arn:aws:sqs:REGION:ACCOUNT:${queuePhysicalName(DEFAULT_PREFIX, queue)}`,
    );
    expect(grantedBy('operator')).toEqual([...asked, ...urls].sort());
  });
});
