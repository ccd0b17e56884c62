import { Killed } from '../../cases/scaler/faults.ts';
import type { Intercept, WorldCall } from '../../cases/scaler/world.ts';
import { cronTimes } from '../../lib/cron/croner.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import { instanceOf } from '../../lib/scaler/pool/membership.ts';
import type { LedgerStore } from '../../lib/scaler/ports.ts';
import { type ClusterOutcome, runCluster } from '../../lib/scaler/run-cluster.ts';
import { isUnobserved } from '../../lib/scaler/tell/status-json.ts';
import type { Turn, Turns } from '../../lib/scaler/turn.ts';
import { SCALER } from '../../lib/settings.ts';
import type { EpochMs } from '../../lib/time.ts';
import { OBJECT } from './bed.ts';
import { CLUSTER, type LeaseBed } from './lease-bed.ts';
import type { Fault } from './lease-histories.ts';
import { countsOf, type Seen, seenIn } from './run-history.ts';
import { strike, strikes } from './strike.ts';

/** By the specification (section 8.2, step 11). */
const SETTLES_MS = 30_000;

/** Calls that begin something: none of them may be made past the deadline. */
const BEGINNINGS: readonly WorldCall['operation'][] = [
  'cordon',
  'uncordon',
  'increase',
  'deleteGameServer',
  'providerDelete',
];

/** One invocation of the function for one tick of the cluster. It goes on only as far as it is let, call by call. */
export class FunctionRun {
  readonly holder: string;
  state: 'parked' | 'running' | 'asleep' | 'ended' = 'running';
  /** What it came to: of the outcome its kind; killed; failed: it could not begin. */
  outcome: ClusterOutcome['kind'] | 'killed' | 'failed' | undefined;
  /** What it has changed, of all that was changed meanwhile. */
  readonly changed = { all: 0, cordoned: 0, more: 0 };
  /** What it has decided upon: each part as it was when the run looked at it. */
  #seen: Partial<Seen> = {};
  readonly #bed: LeaseBed;
  /** Those that have not struck. */
  readonly #faults: Fault[];
  readonly #deadline: EpochMs;
  readonly #until: EpochMs;
  readonly #resume: (() => void)[] = [];
  #paused: () => void = () => undefined;
  #inspected = false;
  #calls = 0;
  #dead = false;

  constructor(bed: LeaseBed, holder: string, scheduledAt: EpochMs, faults: readonly Fault[]) {
    this.#bed = bed;
    this.holder = holder;
    this.#faults = [...faults];
    // As the handler reckons them.
    this.#deadline = (bed.now + SCALER.timeoutSeconds * 1000 - SCALER.reserveMs) as EpochMs;
    this.#until = (bed.now + SCALER.leaseSeconds * 1000) as EpochMs;
    this.#run(scheduledAt).then(
      () => this.#pause('ended'),
      (bug: unknown) => {
        bed.violate(`a bug: ${bug instanceof Error ? bug.stack : bug}`);
        this.#pause('ended');
      },
    );
  }

  /** Goes on to the next call, or to the end. */
  async step(): Promise<void> {
    const paused = new Promise<void>((resolve) => {
      this.#paused = resolve;
    });
    this.state = 'running';
    this.#resume.shift()?.();
    await paused;
  }

  async #run(scheduledAt: EpochMs): Promise<void> {
    const { world } = this.#bed;
    const asked: Intercept = (call, act) => this.#ask(call, act);
    const request = { cluster: CLUSTER, holder: this.holder, scheduledAt };
    try {
      const outcome = await runCluster(
        { ...request, until: this.#until, deadline: this.#deadline },
        {
          turns: this.#turns(asked),
          reach: async () => ({
            objects: this.#bed.objectsBy(asked),
            cluster: world.clusterBy(asked),
            provider: () => world.providerBy(asked),
            locate: async () => new Map(),
          }),
          times: cronTimes,
          clock: () => this.#bed.now,
        },
      );
      this.outcome = outcome.kind;
      this.#judge(outcome);
    } catch (error) {
      if (error instanceof Killed) this.outcome = 'killed';
      else if (error instanceof CallError) this.outcome = 'failed';
      else throw error;
    }
  }

  #turns(asked: Intercept): Turns {
    const { turns } = this.#bed;
    const subject = CLUSTER;
    return {
      begin: async (request) => {
        const begun = await asked({ operation: 'begin', subject }, () => turns.begin(request));
        return begun.kind === 'begun' ? { kind: 'begun', turn: this.#turn(begun.turn, asked) } : begun;
      },
    };
  }

  #turn(turn: Turn, asked: Intercept): Turn {
    const stored = (object: string): LedgerStore => {
      const store = turn.ledgerOf(object);
      return {
        read: () => store.read(),
        write: async (next) =>
          asked({ operation: 'writeLedger', subject: object }, async () => {
            const written = await store.write(next);
            this.#mustHold('remembers something');
            if (object === OBJECT) this.#bed.world.ledger = written;
            return written;
          }),
      };
    };
    return {
      ledgers: turn.ledgers,
      ledgerOf: stored,
      end: async (forget) => asked({ operation: 'end', subject: CLUSTER }, () => turn.end(forget)),
    };
  }

  async #ask<T>(call: WorldCall, act: () => T): Promise<T> {
    await this.#turnstile('parked');
    // Whoever was killed says nothing any more, not even that he gives something back.
    if (this.#dead) throw new Killed(call.operation);
    const number = this.#calls;
    this.#calls += 1;
    this.#bed.onCall(call.operation);
    if (BEGINNINGS.includes(call.operation) && this.#bed.now >= this.#deadline) {
      this.#bed.violate(`${call.operation} is begun past the time that the function has`);
    }
    const fault = this.#take((one) => strikes(one, number, call));
    if (fault?.kind === 'in-flight') await this.#turnstile('asleep');
    try {
      return await strike(fault, call, this.#bed, { act: () => this.#effect(call, act), late: act });
    } catch (error) {
      if (error instanceof Killed) this.#dead = true;
      throw error;
    } finally {
      if (fault?.kind === 'asleep') await this.#turnstile('asleep');
    }
  }

  #take(matches: (fault: Fault) => boolean): Fault | undefined {
    const at = this.#faults.findIndex(matches);
    return at === -1 ? undefined : this.#faults.splice(at, 1)[0];
  }

  /** Carries a call out, and notes what it changes as this run's. */
  #effect<T>({ operation, subject }: WorldCall, act: () => T): T {
    const { world, now } = this.#bed;
    this.#look(operation);
    if (operation === 'providerDelete' || operation === 'deleteNode') this.#mustHaveSettled(subject);
    const before = totalsOf(world.log);
    const result = act();
    const after = totalsOf(world.log);
    this.changed.all += after.all - before.all;
    this.changed.cordoned += after.cordoned - before.cordoned;
    this.changed.more += after.more - before.more;
    if (after.all > before.all && now < this.#until) this.#mustHold(operation);
    return result;
  }

  #look(operation: WorldCall['operation']): void {
    const { replicas, group, nodes, ledger, now } = seenIn(this.#bed);
    if (operation === 'listObjects') this.#seen = { replicas };
    // Decided upon once more, if anything is to be done: later looks are before single deeds.
    const decides = operation === 'describe' || (operation === 'inspect' && !this.#inspected);
    if (decides) this.#seen = { ...this.#seen, group };
    if (operation === 'inspect') this.#inspected = true;
    if (operation === 'snapshot') this.#seen = { ...this.#seen, nodes, ledger, now };
  }

  /** That the cluster is this run's, as long as its lease is. */
  #mustHold(what: string): void {
    const holder = this.#bed.turns.clusters.get(CLUSTER)?.holder;
    if (holder !== this.holder) this.#bed.violate(`lease: ${this.holder} ${what}, and ${holder} has the cluster`);
  }

  /** That what was bound to a node by a scheduler with a stale cache could be seen before it is removed. */
  #mustHaveSettled(subject: string): void {
    const { world, now } = this.#bed;
    for (const node of world.nodes.values()) {
      const cordonedAt = Date.parse(node.annotations[MARKS.cordonedAt] ?? '');
      if (![node.name, instanceOf(node)].includes(subject) || now - cordonedAt >= SETTLES_MS) continue;
      this.#bed.violate(`${node.name} is removed ${now - cordonedAt} ms after its cordon`);
    }
  }

  /** I8, I9 and I11, of what this run has changed. */
  #judge(outcome: ClusterOutcome): void {
    const { all, cordoned, more } = this.changed;
    const idle = outcome.kind !== 'done' || outcome.objects.some(({ status }) => isUnobserved(status.degraded));
    if (idle && all > 0) this.#bed.violate(`I8: ${all} changes by a run that came to ${outcome.kind}`);
    const { replicas, nodes, ledger, now, group } = this.#seen;
    if (replicas === undefined || nodes === undefined || ledger === undefined || now === undefined) return;
    const { active, pending, target } = countsOf({ replicas, nodes, ledger, now, group });
    if (target <= active + pending && more > 0) this.#bed.violate(`I11: ${more} more than the target`);
    if (target >= active && cordoned > 0) this.#bed.violate('I11: cordoned below the target');
  }

  async #turnstile(state: 'parked' | 'asleep'): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#resume.push(resolve);
      this.#pause(state);
    });
  }

  #pause(state: FunctionRun['state']): void {
    this.state = state;
    this.#paused();
  }
}

function totalsOf(log: LeaseBed['world']['log']) {
  return { all: log.changes, cordoned: log.cordoned.length, more: log.increaseBy + log.uncordoned.length };
}
