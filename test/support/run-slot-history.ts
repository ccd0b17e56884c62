import { changedSlots, failuresOf } from '../../functions/task-reaper/records.ts';
import { STREAM_FILTERS } from '../../infra/stream-filters.ts';
import { RetryError } from '../../lib/store/errors.ts';
import { reapSlots, type SlotStore } from '../../lib/tasks/reap.ts';
import { PageError, runPage, type SweepStore } from '../../lib/tasks/run-page.ts';
import type { SweepPage } from '../../lib/tasks/sweep.ts';
import { placeOfSlot, type SlotKey } from '../../lib/tasks/task.ts';
import { compileFilterPattern } from '../../local/event-sources/filter-pattern.ts';
import { Mortal } from './faults.ts';
import { beginIn, Others, type SlotFault, type SlotHistory } from './slot-histories.ts';
import { goners, isDoomed, isOwned, lastTrace, oldOnes } from './slot-model.ts';
import { type Effect, SlotWorld, type WorldRecord, type WorldStore, worldStore, worldSweeps } from './slot-world.ts';

const filters = STREAM_FILTERS.map((pattern) => compileFilterPattern(JSON.stringify(pattern)));
const passes = ({ record }: WorldRecord) => filters.some((filter) => filter(record));

export interface RanHistory {
  readonly world: SlotWorld;
  /** What was done that must not be, and what was left that must not be. */
  readonly problems: readonly string[];
  /** How often what was met. */
  readonly met: Readonly<Record<string, number>>;
}

export interface RunOptions {
  /** Awaited before each request and again before its answer, so that a scheduler decides what happens in between. */
  readonly turn: (what: string) => Promise<unknown>;
  /** Off: nothing comes by the stream, and one sweep at the end finds all of it. */
  readonly stream: 'on' | 'off';
}

/** Lets a history happen while two reapers and a sweeper are at work and faults befall them; then all gets quiet. */
export async function runSlotHistory(history: SlotHistory, { turn, stream }: RunOptions): Promise<RanHistory> {
  const run = new Run(history, turn, stream === 'on');
  await run.storm();
  await run.quiet();
  run.checkEnd();
  await run.again();
  return { world: run.world, problems: run.problems, met: run.met };
}

class Run {
  readonly world = new SlotWorld();
  readonly problems: string[] = [];
  readonly met: Record<string, number> = {};
  readonly #history: SlotHistory;
  readonly #turn: RunOptions['turn'];
  readonly #stream: boolean;
  readonly #faults: SlotFault[];
  readonly #random: () => number;
  /** Records that wait to be dealt with; those that are come again at times. */
  #pending: WorldRecord[] = [];
  #polled = 0;
  #over = false;

  constructor(history: SlotHistory, turn: RunOptions['turn'], stream: boolean) {
    this.#history = history;
    this.#turn = turn;
    this.#stream = stream;
    this.#faults = [...history.faults];
    this.#random = randomFrom(history.seed);
    beginIn(this.world, history);
  }

  async storm(): Promise<void> {
    const others = new Others(this.world);
    const happen = async () => {
      for (const op of this.#history.ops) {
        await this.#turn(op.op);
        others.perform(op);
      }
      others.finishPlans();
      this.#over = true;
    };
    const reapers = this.#stream ? [this.#reaper('reaper 1'), this.#reaper('reaper 2')] : [];
    await Promise.all([happen(), ...reapers, this.#sweeper()]);
  }

  /** No faults any more: whatever waits is dealt with, in turn; without the stream, a sweep goes over everything. */
  async quiet(): Promise<void> {
    this.#faults.length = 0;
    if (!this.#stream) this.world.pages.push(firstPage('last'));
    await this.#settle();
  }

  async #settle(): Promise<void> {
    for (let rounds = 0; ; rounds++) {
      this.#poll();
      if (this.#pending.length === 0 && this.world.pages.length === 0) return;
      if (rounds > 1_000) throw new Error('it does not get quiet');
      if (this.#pending.length > 0) await this.#deliver(this.#pending.slice(0, 1 + this.#int(4)));
      if (this.world.pages.length > 0) await this.#page(0);
    }
  }

  async #reaper(name: string): Promise<void> {
    while (!this.#over) {
      await this.#turn(name);
      this.#poll();
      const repeated = this.world.stream.slice(0, this.#polled).filter(passes);
      // In order within a slot, and in none across slots.
      const lane = this.#int(3);
      const from = (this.#int(5) === 0 ? repeated : this.#pending).filter((one) => one.slotKey.length % 3 === lane);
      const at = this.#int(Math.max(1, from.length));
      const batch = from.slice(at, at + 1 + this.#int(4));
      if (batch.length > 0) await this.#deliver(batch);
    }
  }

  async #sweeper(): Promise<void> {
    while (!this.#over) {
      await this.#turn('sweeper');
      if (this.world.pages.length > 0) await this.#page(this.#int(this.world.pages.length));
    }
  }

  #poll(): void {
    if (this.#stream) this.#pending.push(...this.world.stream.slice(this.#polled).filter(passes));
    this.#polled = this.world.stream.length;
  }

  /** One invocation with a batch. What it does not tell to have failed is dealt with, unless it ends before it tells. */
  async #deliver(batch: readonly WorldRecord[]): Promise<void> {
    const mortal = new Mortal();
    const { slots } = changedSlots(batch.map(({ record }) => record));
    const seen = worldStore(this.world, (effect) => this.#check(effect));
    const outcomes = await Promise.race([reapSlots(slots, this.#context(seen, mortal)), mortal.ended]);
    const allowed = new Set(batch.map(({ slotKey }) => slotKey));
    for (const slotKey of seen.reads) if (!allowed.has(slotKey)) this.problems.push(`${slotKey} was read in vain`);
    if (outcomes === 'killed') return this.#meet('killed');
    for (const { conflicts, error } of outcomes) this.#meet(conflicts > 0 ? 'conflict' : error ? 'error' : 'fine');
    const failures = failuresOf(slots, outcomes);
    const numbers = batch.map(({ record }) => record.dynamodb?.SequenceNumber ?? '');
    // Lambda takes the batch up again at the lowest that failed, wherever the others stand.
    const lowest = Math.min(Number.POSITIVE_INFINITY, ...failures.map(Number));
    const done = new Set(batch.filter((_, at) => Number(numbers[at]) < lowest));
    this.#pending = this.#pending.filter((one) => !done.has(one));
  }

  /** One invocation with a page of a sweep, which comes again if it fails, and at times if it does not. */
  async #page(at: number): Promise<void> {
    const [page] = this.world.pages.splice(at, 1);
    if (!page) return;
    const mortal = new Mortal();
    const seen = worldStore(this.world, (effect) => this.#check(effect));
    const context = this.#context(seen, mortal);
    const sweeps = this.#faulty(worldSweeps(this.world, context.store), mortal);
    const running = runPage(page, {
      ...context,
      ...{ slots: context.store, sweeps, pageTasks: 2 + this.#int(4), tolerant: false },
    });
    const ended = await Promise.race([running.then(() => 'done', nameOf), mortal.ended]);
    this.#meet(`page ${ended}`);
    if (ended !== 'done' || (!this.#over && this.#int(6) === 0)) this.world.pages.push(page);
    for (const slotKey of seen.reads) {
      if (!isOfPage(page, slotKey)) this.problems.push(`${slotKey} was read by a sweep of ${page.serviceId}`);
    }
  }

  #context(seen: WorldStore, mortal: Mortal) {
    const clock = () => this.world.now;
    const sleep = async () => {
      await this.#turn('pause');
    };
    const store = this.#faulty(seen.store, mortal);
    return { store, clock, deadline: Number.MAX_SAFE_INTEGER as never, sleep, random: this.#random };
  }

  /** The store with the history's faults, one a request. */
  #faulty<S extends SlotStore | SweepStore>(real: S, mortal: Mortal): S {
    const request = async <T>(name: string, perform: () => Promise<T>, beaten = perform): Promise<T> => {
      if (!mortal.alive) return mortal.kill();
      const fault = this.#faults.shift() ?? 'none';
      await this.#turn(name);
      if (!mortal.alive) return mortal.kill();
      const answer = await suffer(fault, name, perform, beaten, mortal);
      await this.#turn(`answer to ${name}`);
      return mortal.alive ? answer : mortal.kill();
    };
    const faulty = Object.entries(real).map(([name, perform]: [string, Perform]): [string, Perform] => {
      // Of the services it is the slots' own store that is asked, with the faults it has.
      if (name === 'readServices' && 'send' in real) return [name, perform];
      return [name, (...args) => request(name, () => perform(...args))];
    });
    if (!('write' in real)) return Object.fromEntries(faulty) as unknown as S;
    const write: SlotStore['write'] = async (writes, now) => {
      // Another transaction is under way on the first task: it was not written, and nothing says that it has changed.
      const beaten = async () => ['changed' as const, ...(await real.write(writes.slice(1), now))];
      const failed = (error: Error) => writes.map(() => error);
      return request('write', () => real.write(writes, now), beaten).catch(failed);
    };
    return { ...Object.fromEntries(faulty), write } as unknown as S;
  }

  /** Whether the rules have allowed a write at any moment between its reads and now. */
  #check({ write: { task, what }, slotReadAt, servicesReadAt }: Effect): void {
    const { slotKey, taskId } = task;
    this.#meet(what);
    const settings = this.world.settingsSince(slotKey, servicesReadAt);
    const doomed = settings.some(isDoomed) && task.undo === undefined;
    if (doomed && (what === 'mark' ? task.desiredState !== 'remove' : !isOwned(task as never))) return;
    const allowed = this.world
      .tasksSince(slotKey, slotReadAt)
      .some((tasks) => settings.some((setting) => goners(tasks, setting).get(taskId) === what));
    if (!allowed) this.problems.push(`${what} of ${slotKey} ${taskId} (${task.state}/${task.desiredState})`);
  }

  /** What must be so when all is quiet: nothing is left that is to go, and so no slot holds more than its limit. */
  checkEnd(): void {
    for (const slotKey of this.world.slotKeys) {
      const tasks = this.world.slot(slotKey);
      const setting = this.world.setting(slotKey);
      if (isDoomed(setting)) {
        for (const { taskId } of tasks.filter((task) => !(isOwned(task) && task.desiredState === 'remove'))) {
          this.problems.push(`${slotKey} ${taskId} is left in a slot that is to go`);
        }
        continue;
      }
      for (const [taskId, rule] of goners(tasks, setting)) {
        if (this.#stream && this.#isLateTrace(slotKey, taskId)) this.#meet('late trace');
        else this.problems.push(`${slotKey} ${taskId} is left, by ${rule} it is to go`);
      }
    }
  }

  /**
   * A trace that was the last when the slot was looked at, and is not any more since a task was placed: that triggers
   * nothing. It goes with the next end in the slot, or with the next sweep. Without what is alive, it would stay.
   */
  #isLateTrace(slotKey: SlotKey, taskId: string): boolean {
    const setting = this.world.setting(slotKey);
    const tasks = this.world.slot(slotKey);
    const old = oldOnes(tasks, setting);
    return old.length < tasks.length && lastTrace(old, setting)?.taskId === taskId && !goners(old, setting).has(taskId);
  }

  /** Everything comes once more, and a sweep, which finds those late traces; and then once more, which changes nothing. */
  async again(): Promise<void> {
    const everything = async (name: string) => {
      if (this.#stream) this.#pending = this.world.stream.filter(passes);
      this.world.pages.push(firstPage(name));
      await this.#settle();
    };
    const before = this.world.step;
    await everything('again');
    if (this.world.step > before && !this.met['late trace'])
      this.problems.push('running all again has changed something');
    const { step } = this.world;
    await everything('once more');
    if (this.world.step > step) this.problems.push('running all again and again has changed something');
  }

  #meet(what: string): void {
    this.met[what] = (this.met[what] ?? 0) + 1;
  }

  #int(below: number): number {
    return Math.floor(this.#random() * below);
  }
}

type Perform = (...args: unknown[]) => Promise<unknown>;

async function suffer<T>(
  fault: SlotFault,
  name: string,
  perform: () => Promise<T>,
  beaten: () => Promise<T>,
  mortal: Mortal,
): Promise<T> {
  switch (fault) {
    case 'none':
      return perform();
    case 'changed':
      return beaten();
    case 'lost-before':
      throw new RetryError(`${name}: lost`);
    case 'lost-after':
      await perform();
      throw new RetryError(`${name}: answer lost`);
    case 'kill-before':
      return mortal.kill();
    case 'kill-after':
      await perform();
      return mortal.kill();
  }
}

function firstPage(sweepId: string): SweepPage {
  return { apiVersion: 'berth/v1', kind: 'SweepPage', sweepId, reason: 'request', page: 0 };
}

function isOfPage({ serviceId, slots }: SweepPage, slotKey: SlotKey): boolean {
  const place = placeOfSlot(slotKey);
  const isNamed =
    slots === undefined || slots.some(([from, to]) => from <= (place?.slot ?? -1) && (place?.slot ?? -1) <= to);
  return serviceId === undefined || (place?.serviceId === serviceId && isNamed);
}

function nameOf(error: unknown): string {
  if (error instanceof PageError || error instanceof RetryError) return 'failed';
  throw error;
}

/** Mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
