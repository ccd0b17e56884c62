import { setTimeout as sleep } from 'node:timers/promises';
import { BatchGetItemCommand, ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb';
import { RequestThrottled, SendMessageCommand, SQSServiceException } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { berthOver } from './berth.ts';
import { PlanTimeoutError } from './results.ts';

let bed: BerthBed;
let plans = 0;
/** Applies what is pushed, as long as the tests run. */
let applying = true;
let applier: Promise<void>;

beforeAll(async () => {
  bed = await startBerthBed();
  await bed.berth.registerPool({ pool: 'prod', shards: 1 });
  await bed.berth.registerNode({ pool: 'prod', nodeId: 'n1', capacity: { cpu: 1_000_000 } });
  applier = (async () => {
    for (; applying; await sleep(10)) await bed.applyWaiting();
  })();
});
afterAll(async () => {
  applying = false;
  await applier;
  await bed.stop();
});

function newPlan() {
  const planId = `plan-${plans++}`;
  const task = { taskId: `${planId}-t`, serviceId: 'web', slot: plans, nodeId: 'n1', resources: { cpu: 1 } };
  return { planId, pool: 'prod', placements: [task] };
}

/** Berth to whose requests things happen first: `before` may throw in their place. */
function faulty(before: (command: object) => void, after: (command: object) => void = () => undefined) {
  const wrap = <C extends { send: unknown }>(client: C): C => {
    const send = async (command: object, ...rest: unknown[]) => {
      before(command);
      const answer = await (client.send as (...args: unknown[]) => Promise<unknown>)(command, ...rest);
      after(command);
      return answer;
    };
    return new Proxy(client, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
  };
  return berthOver({ ...bed.connection, dynamo: wrap(bed.connection.dynamo), sqs: wrap(bed.connection.sqs) });
}

const fault = { message: 'slow down', $metadata: { httpStatusCode: 400 } };
const throttled = (name: string) => new SQSServiceException({ ...fault, name, $fault: 'client' });
const placements = async () => {
  let count = 0;
  for await (const _task of bed.berth.tasks('prod')) count++;
  return count;
};

describe('submit', () => {
  it.each([
    ['RequestThrottled', new RequestThrottled(fault)],
    ['ThrottlingException', throttled('ThrottlingException')],
    ['KmsThrottled', throttled('KmsThrottled')],
    ['a server error', Object.assign(new Error('oops'), { $metadata: { httpStatusCode: 503 } })],
    ['a lost connection', Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })],
  ])('goes on after %s of the queue', async (_name, error) => {
    let faults = 5;
    const berth = faulty((command) => {
      if (command instanceof SendMessageCommand && faults-- > 0) throw error;
    });
    expect((await berth.submit(newPlan())).status).toBe('applied');
    expect(faults).toBeLessThan(0);
  });

  it('goes on after throttling of the table in which it looks for the result', async () => {
    let faults = 5;
    const berth = faulty((command) => {
      if (command instanceof BatchGetItemCommand && faults-- > 0)
        throw new ProvisionedThroughputExceededException(fault);
    });
    expect((await berth.submit(newPlan())).status).toBe('applied');
    expect(faults).toBeLessThan(0);
  });

  it('takes effect once if the answer of the queue is lost and the plan is sent again', async () => {
    let lost = 1;
    const berth = faulty(
      () => undefined,
      (command) => {
        if (command instanceof SendMessageCommand && lost-- > 0)
          throw Object.assign(new Error('timed out'), { name: 'TimeoutError' });
      },
    );
    const before = await placements();
    expect((await berth.submit(newPlan())).committed.placements).toBe(1);
    expect(await placements()).toBe(before + 1);
  });

  it('goes on waiting after a restart, and answers with what was decided', async () => {
    const plan = newPlan();
    await expect(bed.berth.submit(plan, { timeoutMs: 0 })).rejects.toBeInstanceOf(PlanTimeoutError);
    const restarted = faulty(() => undefined);
    const result = await restarted.submit(plan);
    expect(result.status).toBe('applied');
    expect(await restarted.submit(plan)).toEqual(result);
    expect(await restarted.waitForResult(plan.planId)).toEqual(result);
  });

  it('does not try for longer than it is given, and says that the plan may take effect', async () => {
    let sent = 0;
    const away = faulty((command) => {
      if (!(command instanceof SendMessageCommand)) return;
      sent++;
      throw throttled('RequestThrottled');
    });
    await expect(away.submit(newPlan(), { timeoutMs: 200 })).rejects.toThrow(
      /has no result after 200 ms; it may take effect yet: submit it again unchanged/,
    );
    // Without a limit it would try 21 times, over seconds.
    expect(sent).toBeLessThan(20);
  });

  it('ends when its signal says so, before the plan is sent and after', async () => {
    const controller = new AbortController();
    const away = faulty((command) => {
      if (command instanceof SendMessageCommand) {
        controller.abort(new Error('enough'));
        throw throttled('RequestThrottled');
      }
    });
    await expect(away.submit(newPlan(), { signal: controller.signal })).rejects.toThrow('enough');
    await expect(bed.berth.waitForResult('nobody', { signal: AbortSignal.timeout(20) })).rejects.toThrow(/timeout/);
  });

  it('does not try again what can never pass', async () => {
    let sent = 0;
    const refused = faulty((command) => {
      if (!(command instanceof SendMessageCommand)) return;
      sent++;
      throw throttled('QueueDoesNotExist');
    });
    await expect(refused.submit(newPlan())).rejects.toThrow('QueueDoesNotExist');
    expect(sent).toBe(1);
  });
});
