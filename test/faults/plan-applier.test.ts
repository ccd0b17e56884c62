import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Applied, applyPlans, OutOfTimeError } from '../../lib/plans/apply.ts';
import { WindowCache } from '../../lib/plans/window-cache.ts';
import { planStore } from '../../lib/store/plan-store.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type Database, startDatabase } from '../support/database.ts';
import { dynamoBed, openDynamoBed } from '../support/dynamo-bed.ts';
import { type Fault, type FaultScript, noFaults } from '../support/faults.ts';
import { faultyClient } from '../support/faulty-client.ts';
import type { History } from '../support/histories.ts';
import { deliveryOf, SENT_AT } from '../support/plans.ts';
import { changedAnswers, expectedOf, runHistory } from '../support/run-history.ts';
import { scene } from '../support/scene.ts';
import { summaryOf } from '../support/summary.ts';

/** A scene takes a second; some of these tests play thirty, on a machine that has other things to do. */
const LONG = 600_000;

let database: Database;
/** Requests of a scene that nobody disturbs. */
let undisturbed: number;

beforeAll(async () => {
  database = await startDatabase();
  undisturbed = (await play(scene(newPool()), 'undisturbed')).length;
}, LONG);
afterAll(() => database.stop());

let scenes = 0;
const newPool = () => `s${++scenes}`;

/** Plays a scene, and holds what comes of it against the model; answers the requests that it took. */
async function play(history: History, what: string): Promise<readonly string[]> {
  const bed = await dynamoBed(database, history);
  const ran = await runHistory(history, bed);
  const world = await bed.world();
  expect(ran.problems, what).toEqual([]);
  expect(summaryOf(world), what).toEqual(expectedOf(history));
  expect(changedAnswers(ran, world.results), what).toEqual([]);
  return bed.requests;
}

/** `fault` at every request `number` after the one before. */
const every = (number: number, ...faults: readonly Fault[]): (Fault | undefined)[] =>
  faults.flatMap((fault) => [...Array.from({ length: number - 1 }, () => undefined), fault]);

/** Every request number of a scene, the last ones beside. */
const numbers = () => Array.from({ length: undisturbed }, (_, at) => at + 1);

describe('a queue of plans ends as its plans one after the other end', () => {
  it('undisturbed, in more requests than a few', () => {
    expect(undisturbed).toBeGreaterThan(20);
  });

  it('with two appliers at once, whatever batches they get', async () => {
    for (const appliers of [
      [10, 10],
      [1, 10],
      [3, 2],
    ]) {
      await play(scene(newPool(), { appliers }), `batches of ${appliers}`);
    }
  });

  it('delivered once more as a whole, since a crash came before the acknowledgement', async () => {
    const history = scene(newPool());
    const bed = await dynamoBed(database, history);
    const first = await runHistory(history, bed);
    const before = await bed.world();
    const second = await runHistory(history, bed);
    expect(await bed.world()).toEqual(before);
    expect([...first.problems, ...second.problems]).toEqual([]);
    expect([...second.answers]).toEqual([...first.answers]);
  });

  it('killed after each request in turn, and then with an answer lost', { timeout: LONG }, async () => {
    for (const n of numbers()) {
      const faults: (Fault | undefined)[] = every(n, 'kill-after', 'lost-after');
      const next = n % 2 ? 'conflict' : 'partly-throttled';
      await play(scene(newPool(), { faults: [...faults, next] }), `killed after ${n}, later the answer to ${n} lost`);
    }
  });

  it('with all that can fail failing all the time', { timeout: LONG }, async () => {
    const kinds = ['lost-after', 'conflict', 'throttled', 'partly-throttled', 'server-error', 'lost-before'] as const;
    for (const offset of [0, 1, 2]) {
      const faults = kinds.flatMap((_, at) => every(2, kinds[(at + offset) % kinds.length] ?? 'conflict'));
      await play(scene(newPool(), { faults: [...faults, ...faults, ...faults] }), `faults from ${offset} on`);
    }
  });

  it('with another applier doing all of it between two requests', { timeout: LONG }, async () => {
    for (const n of numbers().filter((number) => number % 2 === 0)) {
      const pool = newPool();
      const rival = scene(pool);
      const meanwhile = async () => {
        const { problems } = await runHistory(rival, openDynamoBed(database, rival));
        expect(problems).toEqual([]);
      };
      await play(scene(pool, { faults: every(n, { meanwhile }) }), `a rival before request ${n}`);
    }
  });
});

describe('throttled for longer than an invocation has', () => {
  /** One invocation of 25 seconds over a clock that only pauses move; `late` are requests that came after its time. */
  const invoke = async (history: History, script: FaultScript) => {
    const plans = history.batches.flatMap((batch) => batch.plans);
    const deadline = SENT_AT + 25_000;
    let now: number = SENT_AT;
    let late = 0;
    const { client, requests } = faultyClient(database.client, (request) => {
      if (now >= deadline) late++;
      return script(request);
    });
    const applied = await applyPlans(
      plans.map((plan) => deliveryOf(plan)),
      {
        store: planStore(client, database.tables),
        clock: () => now as EpochMs,
        deadline: deadline as EpochMs,
        sleep: async (ms) => {
          now += ms;
        },
        random: () => 0.999,
        pools: new Map(),
        windows: new WindowCache(),
        allowance: history.allowance,
      },
    );
    return { ...applied, requests, late, over: now - deadline };
  };
  const ids = ({ decided, left }: Applied) =>
    [...decided.map(({ delivery }) => delivery), ...left].map((it) => it.planId);

  it.each([1, 2, 9, 15])('from request %i on, gives the rest back in order, and loses nothing', async (from) => {
    const history = scene(newPool());
    const bed = await dynamoBed(database, history);
    const order = history.batches.flatMap((batch) => batch.plans.map(({ planId }) => planId));
    const kinds = ['throttled', 'partly-throttled', 'nothing-processed'] as const;
    const first = await invoke(history, ({ number }) => (number < from ? undefined : kinds[number % kinds.length]));
    expect(ids(first)).toEqual(order);
    expect(first.left.length).toBeGreaterThan(0);
    expect(first.error).toBeInstanceOf(OutOfTimeError);
    // Pauses grow: a request every two seconds at the end, not hundreds.
    expect([first.late, first.over, first.parked]).toEqual([0, 0, []]);
    expect(first.requests.length).toBeLessThan(from + 40);

    const second = await invoke(history, noFaults);
    expect([ids(second), second.left]).toEqual([order, []]);
    expect(summaryOf(await bed.world())).toEqual(expectedOf(history));
  });
});
