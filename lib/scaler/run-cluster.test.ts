import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { OBJECT, ScalerBed } from '../../test/scaler/bed.ts';
import { MemoryTurns } from '../../test/support/memory-turns.ts';
import { cronTimes } from '../cron/croner.ts';
import type { EpochMs } from '../time.ts';
import { CallError } from './call-error.ts';
import type { GameServerNodeObject, Ledger } from './observation.ts';
import type { ClusterEvent, Objects } from './ports.ts';
import { type ClusterOutcome, type ClusterPorts, type ReachedCluster, runCluster } from './run-cluster.ts';

const CLUSTER = 'eu-central-1/game';
const MINUTE = 60_000;
const LEASE = 65_000;
const REFUSED = new CallError('refused', '500', 'no');

/** Thrown by whoever is dead: nothing that a port answers. */
class Dead extends Error {}

let bed: ScalerBed;
let turns: MemoryTurns;
/** Undefined: the cluster does not know the kind. */
let objects: GameServerNodeObject[] | undefined;
let events: ClusterEvent[];
let calls: string[];
/** What happens to a call, by its name, before it is made. */
let meanwhile: (name: string, nth: number) => void;
/** The call after which the function is dead; and whether that call arrives. */
let dies: { readonly after: number; readonly arrives: boolean } | undefined;

beforeEach(() => {
  bed = new ScalerBed('eks', 2);
  bed.addNode();
  bed.addNode();
  turns = new MemoryTurns();
  objects = [objectOf(OBJECT)];
  [events, calls, dies, meanwhile] = [[], [], undefined, () => undefined];
});

function objectOf(name: string, more: Partial<GameServerNodeObject> = {}): GameServerNodeObject {
  const { now: createdAt } = bed;
  return {
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    generation: 1,
    createdAt,
    spec: {},
    status: undefined,
    ...more,
  };
}

/** Passes each call of `port` on, unless the function is dead. */
function mortal<T extends object>(port: T, prefix = ''): T {
  return new Proxy(port, {
    get(target, name) {
      const method = Reflect.get(target, name) as unknown;
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => {
        const answer = async () => {
          const label = prefix + String(name);
          calls.push(label);
          const nth = calls.length;
          if (dies && nth > dies.after + 1) throw new Dead();
          if (dies && nth === dies.after + 1 && !dies.arrives) throw new Dead();
          meanwhile(label, nth);
          const value: unknown = await method.apply(target, args);
          if (dies && nth === dies.after + 1) throw new Dead();
          return value;
        };
        return answer();
      };
    },
  });
}

const stored: Objects = {
  // As the cluster has it: a copy of its own, names in another order.
  list: async () => objects?.map((one) => ({ ...one, spec: bed.spec(), status: sorted(one.status) })),
  async writeStatus({ name }, status) {
    objects = objects?.map((one) => (one.name === name ? { ...one, status: JSON.parse(JSON.stringify(status)) } : one));
  },
  tell: async (event) => void events.push(event),
};

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted()
      .map(([name, one]) => [name, sorted(one)]),
  );
}

function portsOf(): ClusterPorts {
  const { cluster, provider } = bed.world;
  const asked = mortal(provider);
  const reached: ReachedCluster = {
    objects: mortal(stored),
    cluster: mortal(cluster),
    provider: () => asked,
    locate: (instances) => asked.locate(instances),
  };
  const mortalTurns = mortal({
    async begin(request: Parameters<MemoryTurns['begin']>[0]) {
      const begun = await turns.begin(request);
      if (begun.kind !== 'begun') return begun;
      const { ledgers, ledgerOf, end } = begun.turn;
      const ledger = (object: string) => {
        const { read, write } = ledgerOf(object);
        const mirrored = async (next: Ledger) => {
          // Where the world looks whether a machine that is ended was written down first.
          bed.world.ledger = await write(next);
          return bed.world.ledger;
        };
        return { read, write: mortal({ write: mirrored }).write };
      };
      return { kind: 'begun' as const, turn: { ledgers, ledgerOf: ledger, end: mortal({ end }).end } };
    },
  });
  return { turns: mortalTurns, ...mortal({ reach: async () => reached }), times: cronTimes, clock: () => bed.now };
}

/** Runs the tick of the present minute. */
async function tick(scheduledAt = bed.now): Promise<ClusterOutcome> {
  calls = [];
  const { now } = bed;
  const deadline = (now + 44_000) as EpochMs;
  const until = (now + LEASE) as EpochMs;
  const holder = randomUUID();
  return runCluster({ cluster: CLUSTER, scheduledAt, holder, until, deadline }, portsOf());
}

const later = (ms: number) => {
  bed.now = (bed.now + ms) as EpochMs;
};
const told = () => events.splice(0).map(({ type, reason }) => `${type} ${reason}`);
const statusNow = () => objects?.[0]?.status as { conditions: Record<string, string>[] } & Record<string, unknown>;
const conditionNow = (type: string) => statusNow().conditions.find((one) => one.type === type);
const failing = (label: string) => (name: string) => {
  if (name === label) throw REFUSED;
};

describe('a tick with nothing to do', () => {
  const IDLE = ['begin', 'reach', 'list', 'validate', 'describe', 'snapshot', 'end'];

  test('writes its status once, and then asks for what it must see and changes nothing', async () => {
    expect(await tick()).toMatchObject({ kind: 'done', errors: [], abandoned: [] });
    expect(calls).toEqual([...IDLE.slice(0, -1), 'writeStatus', 'end']);
    later(MINUTE);
    turns.requests = 0;
    await tick();
    expect(calls).toEqual(IDLE);
    expect(turns.requests).toBe(2);
    expect(told()).toEqual([]);
  });

  test('costs two requests to the table with many objects as well', async () => {
    objects = Array.from({ length: 20 }, (_, nth) => objectOf(`object-${nth}`));
    await tick();
    expect(turns.requests).toBe(2);
  });
});

test('a bug with one object is thrown once all others have been told of', async () => {
  objects = [objectOf(OBJECT), objectOf('younger', { createdAt: (bed.now + 1) as EpochMs })];
  meanwhile = (name) => {
    if (name === 'validate') throw new TypeError('Invalid URL');
  };
  await expect(tick()).rejects.toThrow('Invalid URL');
  expect(calls).toEqual(expect.arrayContaining(['writeStatus', 'end']));
});

describe('a tick is not run', () => {
  test('a second time, nor after a later one', async () => {
    const first = bed.now;
    await tick();
    expect(await tick(first)).toEqual({ kind: 'past' });
    expect(calls).toEqual(['begin']);
    expect(await tick((first - MINUTE) as EpochMs)).toEqual({ kind: 'past' });
  });

  test('while another is at it, or has died a moment ago', async () => {
    dies = { after: 2, arrives: true };
    await expect(tick()).rejects.toThrow(Dead);
    dies = undefined;
    later(MINUTE);
    expect(await tick()).toEqual({ kind: 'held' });
    expect(calls).toEqual(['begin']);
    later(MINUTE);
    expect(await tick()).toMatchObject({ kind: 'done' });
  });
});

describe('a cluster', () => {
  test('without the kind is left alone, quietly', async () => {
    objects = undefined;
    expect(await tick()).toEqual({ kind: 'no-kind' });
    expect(calls).toEqual(['begin', 'reach', 'list', 'end']);
  });

  test.each(['reach', 'list'])('of which %s fails is unobserved, and its turn is given back', async (label) => {
    meanwhile = failing(label);
    expect(await tick()).toEqual({ kind: 'unobserved', error: REFUSED });
    later(1);
    meanwhile = () => undefined;
    expect(await tick()).toMatchObject({ kind: 'done' });
  });

  test('whose turn cannot be given back says so', async () => {
    meanwhile = failing('end');
    expect(await tick()).toMatchObject({ kind: 'done', unreleased: REFUSED });
  });

  test('is given back when a bug ends the tick, which goes on to who runs it', async () => {
    meanwhile = (name) => {
      if (name === 'snapshot') throw new TypeError('a bug');
    };
    await expect(tick()).rejects.toThrow('a bug');
    expect(calls.at(-1)).toBe('end');
    later(1);
    meanwhile = () => undefined;
    expect(await tick()).toMatchObject({ kind: 'done' });
  });
});

describe('the status', () => {
  test('is of the generation that was read, with times of conditions that move only with their status', async () => {
    objects = [objectOf(OBJECT, { generation: 7 })];
    await tick();
    const first = new Date(bed.now).toISOString();
    expect(statusNow()).toMatchObject({ observedGeneration: 7, nodes: { active: 2 }, effectiveTarget: 2 });
    expect(conditionNow('AtTarget')).toMatchObject({ status: 'True', lastTransitionTime: first });
    later(MINUTE);
    bed.replicas = 3;
    await tick();
    const second = new Date(bed.now).toISOString();
    expect(conditionNow('AtTarget')).toMatchObject({
      status: 'False',
      reason: 'ScalingUp',
      lastTransitionTime: second,
    });
    expect(conditionNow('Valid')).toMatchObject({ status: 'True', lastTransitionTime: first });
  });

  test('keeps what was seen last where the pool cannot be seen, and says that it cannot', async () => {
    await tick();
    told();
    later(MINUTE);
    meanwhile = failing('snapshot');
    await tick();
    expect(statusNow()).toMatchObject({ nodes: { active: 2 }, provider: { name: 'eks', desired: 2 } });
    expect(
      statusNow()
        .conditions.map(({ type, status }) => `${type} ${status}`)
        .toSorted(),
    ).toEqual(['AtTarget True', 'Degraded True', 'TargetClamped False', 'Valid True']);
    expect(told()).toEqual(['Warning ObservationFailed']);
    later(MINUTE);
    meanwhile = () => undefined;
    await tick();
    expect(told()).toEqual(['Normal Recovered']);
  });

  test('that could not be written is written by the next tick, and what it tells with it, once', async () => {
    meanwhile = failing('writeStatus');
    bed.extra = { bad: true };
    expect(await tick()).toMatchObject({
      errors: [{ operation: 'status', subject: OBJECT, code: '500', kind: 'refused' }],
    });
    expect(told()).toEqual([]);
    meanwhile = () => undefined;
    for (let nth = 0; nth < 2; nth++) {
      later(MINUTE);
      await tick();
    }
    expect(told()).toEqual(['Warning InvalidSpec']);
    expect(conditionNow('Valid')).toMatchObject({ status: 'False', reason: 'InvalidSpec' });
  });

  test('of a tick that was paused past its lease is not written: another may have written since', async () => {
    meanwhile = (name) => {
      if (name === 'snapshot') later(LEASE);
    };
    await tick();
    expect(calls).not.toContain('writeStatus');
    expect(statusNow()).toBeUndefined();
  });
});

describe('events', () => {
  test('tell of cordons, of what was brought back, and of orders', async () => {
    bed.replicas = 1;
    await tick();
    expect(told()).toEqual(['Normal NodeCordoned']);
    later(MINUTE);
    bed.replicas = 4;
    await tick();
    expect(told()).toEqual(['Normal NodeUncordoned', 'Normal NodesOrdered']);
  });

  test('tell of machines and nodes, with the object that they are about', async () => {
    bed.replicas = 1;
    await tick();
    events = [];
    later(MINUTE);
    await tick();
    expect(events).toMatchObject([
      { reason: 'MachineEnded', object: { name: OBJECT, uid: `uid-${OBJECT}` }, at: bed.now },
      { reason: 'NodeRemoved', message: expect.stringMatching(/^node n\d is removed$/) },
    ]);
  });

  test('tell once of a drain that is blocked, and when it is not any more', async () => {
    const server = bed.addServer('n1', 'Allocated');
    bed.addServer('n2', 'Allocated');
    bed.extra = { drainWarningSeconds: 60 };
    bed.replicas = 0;
    await tick();
    told();
    for (let minute = 0; minute < 3; minute++) {
      later(MINUTE);
      await tick();
    }
    expect(told()).toEqual(['Warning DrainBlocked']);
    bed.removeServer(server);
    bed.replicas = 2;
    later(MINUTE);
    await tick();
    expect(told()).toContain('Normal Recovered');
  });

  test('that are lost do no harm', async () => {
    meanwhile = failing('tell');
    bed.replicas = 1;
    expect(await tick()).toMatchObject({ kind: 'done', errors: [{ operation: 'event', code: '500' }] });
    expect(conditionNow('AtTarget')).toMatchObject({ reason: 'ScalingDown' });
  });
});

describe('what is remembered of an object that is gone', () => {
  const remember = async (ledger: Omit<Ledger, 'version'>) => {
    const begun = await turns.begin({
      ...{ cluster: CLUSTER, scheduledAt: bed.now, holder: 'test', now: bed.now },
      until: (bed.now + LEASE) as EpochMs,
    });
    if (begun.kind !== 'begun') throw new Error(begun.kind);
    await begun.turn.ledgerOf('gone').write({ version: 0, ...ledger });
    await begun.turn.ledgerOf(OBJECT).write({ version: 0, pendingDeletions: [] });
    await begun.turn.end([]);
    later(MINUTE);
  };
  const remembered = () => [...(turns.clusters.get(CLUSTER)?.ledgers.keys() ?? [])];
  const DAY = 24 * 60 * MINUTE;

  test('goes at once where nothing is under way; what is remembered of others stays', async () => {
    await remember({ pendingDeletions: [], detectedProvider: 'eks' });
    expect(await tick()).toMatchObject({ abandoned: [] });
    expect(remembered()).toEqual([OBJECT]);
  });

  test('stays for a week where something is under way, and its going is told', async () => {
    const since = bed.now;
    await remember({ pendingDeletions: [{ node: 'n', uid: 'u', since }] });
    expect(await tick()).toMatchObject({ abandoned: [] });
    bed.now = (since + 7 * DAY - 1) as EpochMs;
    await tick();
    expect(remembered()).toEqual(['gone', OBJECT]);
    bed.now = (since + 7 * DAY) as EpochMs;
    expect(await tick()).toMatchObject({ abandoned: ['gone'] });
    expect(remembered()).toEqual([OBJECT]);
  });

  test('stays where nodes of it may be registered', async () => {
    await remember({ pendingDeletions: [], registration: { pool: 'prod' } });
    await tick();
    expect(remembered()).toEqual(['gone', OBJECT]);
  });

  test('stays where the objects could not be read', async () => {
    await remember({ pendingDeletions: [] });
    meanwhile = failing('list');
    await tick();
    expect(remembered()).toEqual(['gone', OBJECT]);
  });
});

describe('a function that dies', () => {
  /** The calls of a tick that cordons, drains and removes what it may, of one that orders, and how each pool ends. */
  const SCENES: readonly { readonly what: string; readonly prepare: () => void; readonly replicas: number }[] = [
    {
      what: 'while it removes a node and cordons another',
      replicas: 1,
      prepare: () => {
        const third = bed.addNode();
        bed.drain(third);
        bed.addServer('n1', 'Ready');
      },
    },
    { what: 'while it orders', replicas: 5, prepare: () => undefined },
  ];

  const settle = async () => {
    dies = undefined;
    for (let minute = 0; minute < 6; minute++) {
      later(MINUTE);
      await tick();
      for (const { name, deleting } of bed.world.servers.values()) if (deleting) bed.removeServer(name);
    }
  };

  for (const { what, prepare, replicas } of SCENES) {
    for (const arrives of [true, false]) {
      test(`${what}, at any of its calls${arrives ? ', that call done' : ''}, leaves what the next ticks go on from`, async () => {
        let after = 0;
        for (let dead = true; dead; after++) {
          bed = new ScalerBed('eks', 2);
          bed.addNode();
          bed.addNode();
          bed.replicas = replicas;
          prepare();
          turns = new MemoryTurns();
          objects = [objectOf(OBJECT)];
          dies = { after, arrives };
          dead = await tick().then(
            // Whose last call alone was lost has not noticed.
            (outcome) => 'unreleased' in outcome,
            (error: unknown) => {
              if (!(error instanceof Dead)) throw error;
              return true;
            },
          );
          await settle();
          expect(bed.world.log.violations).toEqual([]);
          expect(bed.world.group?.desired).toBe(replicas);
          expect(bed.world.ledger.pendingDeletions).toEqual([]);
        }
        expect(after).toBeGreaterThan(8);
      });
    }
  }
});
