import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { stateOf } from '../../local/outside/cluster-objects.ts';
import type { Fault } from '../../local/outside/faults.ts';
import { HTTP_HISTORIES } from '../support/tries.ts';
import { FLEET, type HttpRun, HttpWorld } from './http-world.ts';

const TIME = { timeout: 300_000 + HTTP_HISTORIES * 10_000 };

const HARM: readonly [Fault, ...Fault[]] = [
  { kind: 'refuse', code: 'InternalError', status: 500 },
  { kind: 'cut', effect: true },
  { kind: 'cut', effect: false },
];

/** Requests after which a function may be killed, or sleep. */
const CHANGES = [
  'patch nodes',
  'delete gameservers',
  'delete nodes',
  'list gameservers',
  'SetDesiredCapacity',
  'TerminateInstanceInAutoScalingGroup',
];

const minute = fc.record({
  /** Undefined: the target stays. */
  target: fc.option(fc.nat(7), { nil: undefined, freq: 3 }),
  players: fc.nat(2),
  ends: fc.nat(3),
  /** What becomes of the run: twice, two functions at once; killed and asleep, after a request of that kind. */
  run: fc.constantFrom('once', 'once', 'twice', 'killed', 'asleep'),
  after: fc.constantFrom(...CHANGES),
  operator: fc.constantFrom('none', 'none', 'none', 'cordon', 'uncordon'),
});
type Minute = typeof minute extends fc.Arbitrary<infer T> ? T : never;

const history = fc.record({
  seed: fc.nat(1_000),
  nodes: fc.integer({ min: 1, max: 5 }),
  servers: fc.integer({ min: 1, max: 10 }),
  minutes: fc.array(minute, { minLength: 6, maxLength: 14 }),
});

it('over HTTP no game is lost, whatever becomes of requests and functions', TIME, async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ seed, nodes, servers, minutes }) => {
      const world = await HttpWorld.start(nodes, servers);
      try {
        const { outside, violations } = world;
        world.retarget(nodes);
        outside.faults.addRandom({ seed, share: 0.06, faults: HARM });
        const race: Fault = { kind: 'meanwhile', act: () => outside.fleets.allocate(FLEET) };
        outside.faults.addRandom({ seed, share: 0.4, operation: 'delete gameservers', faults: [race] });
        await play(world, minutes);
        const target = minutes.findLast(({ target: one }) => one !== undefined)?.target ?? nodes;
        outside.faults.clear();
        await quiet(world);
        expect([...violations, ...outside.violations]).toEqual([]);
        expect(outside.killedSessions).toEqual([]);
        expect({ desired: outside.groups.get('eks-games')?.desired, active: activeIn(world) }).toEqual({
          desired: target,
          active: target,
        });
      } finally {
        await world.close();
      }
    }),
    { numRuns: HTTP_HISTORIES },
  );
});

async function play(world: HttpWorld, minutes: readonly Minute[]): Promise<void> {
  let wake: () => void = () => undefined;
  let sleeper: HttpRun | undefined;
  for (const [at, one] of minutes.entries()) {
    pass(world, 1);
    happen(world, one);
    const { faults } = world.outside;
    const { run: of, after: operation } = one;
    if (of === 'asleep' && sleeper === undefined) {
      const until = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const run = world.run();
      sleeper = run;
      let takeBack: () => void = () => undefined;
      const asleep = new Promise<void>((resolve) => {
        const act = () => {
          resolve();
          return until;
        };
        takeBack = faults.add({ operation, fault: { kind: 'meanwhile', act, after: true } });
      });
      await Promise.race([run.done, asleep]);
      takeBack();
    } else {
      const runs = [world.run(), ...(of === 'twice' ? [world.run()] : [])];
      const act = () => runs[0]?.kill();
      const takeBack =
        of === 'killed' ? faults.add({ operation, fault: { kind: 'meanwhile', act, after: true } }) : undefined;
      await Promise.all(runs.map(({ done }) => done));
      takeBack?.();
    }
    if (at % 3 === 2) {
      wake();
      await sleeper?.done;
      sleeper = undefined;
    }
  }
  wake();
  await sleeper?.done;
}

function pass(world: HttpWorld, minutes: number): void {
  world.now = (world.now + minutes * 60_000) as EpochMs;
  world.outside.settle();
}

function happen(world: HttpWorld, { target, players, ends, operator }: Minute): void {
  const { fleets, cluster, scene } = world.outside;
  if (target !== undefined) world.retarget(target);
  for (let player = 0; player < players; player++) fleets.allocate(FLEET);
  const inUse = fleets
    .servers(FLEET)
    .filter((one) => stateOf(one) === 'Allocated' && one.metadata.deletionTimestamp === undefined);
  for (const { metadata } of inUse.slice(0, ends)) fleets.endGame(metadata.name, metadata.namespace);
  if (operator === 'none') return;
  const cordon = operator === 'cordon';
  const node = cluster()
    .store.list('nodes')
    .find(
      ({ spec, metadata }) => (spec?.unschedulable === true) !== cordon && !(PENDING in (metadata.annotations ?? {})),
    );
  if (node === undefined) return;
  scene.change('nodes', node.metadata.name, (one) => ({ ...one, spec: { ...one.spec, unschedulable: cordon } }));
}

const PENDING = 'stable.agones.dev/pending-delete';

/** Players leave, operators take their cordons back, and everything comes to its end. */
async function quiet(world: HttpWorld): Promise<void> {
  const { fleets, cluster, scene } = world.outside;
  for (let round = 0; round < 10; round++) {
    for (const { metadata } of fleets.servers(FLEET)) fleets.endGame(metadata.name, metadata.namespace);
    for (const { metadata, spec } of cluster().store.list('nodes')) {
      const theirs = spec?.unschedulable === true && !('stable.agones.dev/cordoned-by' in (metadata.annotations ?? {}));
      if (theirs) {
        scene.change('nodes', metadata.name, (one) => ({ ...one, spec: { ...one.spec, unschedulable: false } }));
      }
    }
    pass(world, 4);
    await world.run().done;
  }
}

function activeIn(world: HttpWorld): number {
  return world.outside
    .cluster()
    .store.list('nodes')
    .filter(({ spec }) => spec?.unschedulable !== true).length;
}
