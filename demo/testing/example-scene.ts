import type { EpochMs } from '../../lib/time.ts';
import type { NodeClass, Sample } from '../scaler/census.ts';
import type { Deed, Tick } from '../scaler/deeds.ts';
import type { ScalerFacts } from '../scaler/facts.ts';
import { type Scene, targetAt, timeOf } from '../scaler/scene.ts';

/** An hour and twenty minutes, with everything in it that an evening has. */
export const SHORT_SCENE: Scene = {
  from: Date.parse('2026-01-16T15:00:00Z') as EpochMs,
  minutes: 80,
  timezone: 'Europe/Berlin',
  replicas: 2,
  min: 1,
  max: 7,
  serversPerNode: 4,
  schedule: { cron: '20 16 * * *', durationMinutes: 30, replicas: 5, leadSeconds: 300 },
  window: { opens: 15, begins: 20, closes: 50 },
  buffer: 4,
  players: {
    demand: [
      [0, 2],
      [18, 3],
      [24, 11],
      [42, 9],
      [50, 3],
      [80, 1],
    ],
    medianMinutes: 5,
    long: { from: 30, until: 48, share: 0.2, minutes: [14, 22] },
  },
  incidents: {
    kill: 10,
    shortage: [13, 18],
    cordon: 25,
    loss: 32,
    twin: 51,
    blind: [53, 55],
    rescale: [58, 66, 3],
    races: [1, 3],
  },
};

/** What a scene came to in which all went as it has to, made up: a minute of each kind is enough. */
export function exampleFacts(): ScalerFacts {
  const scene = SHORT_SCENE;
  const at = (minute: number) => timeOf(scene, minute);
  const seen = { guarded: true, ours: true } as const;
  const deeds: Deed[] = [
    { kind: 'order', at: at(15), by: 3, desired: 5, max: 7, usable: 2, target: 5 },
    { kind: 'order', at: at(25), by: 1, desired: 6, max: 7, usable: 4, target: 5 },
    { kind: 'cordon', at: at(50), node: 'n3', marked: false, usable: 5, target: 2 },
    { kind: 'cordon', at: at(50), node: 'n4', marked: false, usable: 4, target: 2 },
    { kind: 'cordon', at: at(50), node: 'n5', marked: false, usable: 3, target: 2 },
    {
      kind: 'delete-server',
      at: at(50),
      server: 'm-1',
      node: 'n3',
      state: 'Allocated',
      ...seen,
      raced: true,
      done: false,
    },
    { kind: 'delete-server', at: at(50), server: 'm-2', node: 'n4', state: 'Ready', ...seen, raced: false, done: true },
    { kind: 'end-machine', at: at(51), node: 'n4', instance: 'i-4', games: 0, intended: true },
    { kind: 'remove-node', at: at(51), node: 'n4', games: 0 },
    { kind: 'uncordon', at: at(58), node: 'n5', marked: true, usable: 2, target: 3 },
    { kind: 'cordon', at: at(66), node: 'n5', marked: false, usable: 3, target: 2 },
    { kind: 'end-machine', at: at(67), node: 'n5', instance: 'i-5', games: 0, intended: true },
    { kind: 'remove-node', at: at(67), node: 'n5', games: 0 },
  ];
  return {
    scene,
    seed: 1,
    samples: Array.from({ length: scene.minutes + 1 }, (_, minute) => sample(scene, minute)),
    ticks: Array.from({ length: scene.minutes }, (_, index) => tick(scene, index + 1)),
    deeds,
    moves: [
      { at: at(15), what: 'launched', instance: 'i-4', desired: 5, min: 1, max: 7 },
      { at: at(51), what: 'ended', instance: 'i-4', cause: 'by id', desired: 5, min: 1, max: 7 },
      { at: at(67), what: 'ended', instance: 'i-5', cause: 'by id', desired: 4, min: 1, max: 7 },
    ],
    sets: 2,
    games: [
      { server: 'm-0', node: 'n1', startedAt: at(2), waitedSeconds: 3, until: at(9), endedAt: at(9) },
      { server: 'm-1', node: 'n3', startedAt: at(50), waitedSeconds: 0, until: at(90) },
      { server: 'm-3', node: 'n4', startedAt: at(30), waitedSeconds: 75, until: at(49), endedAt: at(49) },
      {
        ...{ server: 'm-4', node: 'n6', startedAt: at(30), waitedSeconds: 0, until: at(45), endedAt: at(32) },
        killed: 'its machine i-6 was ended by loss',
      },
    ],
    incidents: [
      { minute: 13, kind: 'shortage', text: 'AWS has no machines' },
      { minute: 15, kind: 'kill', text: 'the function is killed' },
      { minute: 18, kind: 'shortage', text: 'there are machines again' },
      { minute: 25, kind: 'cordon', text: 'an operator cordons n2' },
      { minute: 32, kind: 'loss', text: 'the machine of n6 fails' },
      { minute: 50, kind: 'race', text: 'players get m-1 just before <it> goes' },
      { minute: 51, kind: 'twin', text: 'the tick is delivered twice' },
      { minute: 53, kind: 'blind', text: 'no list of pods' },
      { minute: 58, kind: 'rescale', text: 'scaled to 3' },
    ],
    gone: [
      {
        node: 'n6',
        cordonedAt: undefined,
        lastGameEndedAt: at(32),
        endedAt: undefined,
        removedAt: at(34),
        games: 1,
        by: 'failure',
      },
      {
        node: 'n4',
        cordonedAt: at(50),
        lastGameEndedAt: at(49),
        endedAt: at(51),
        removedAt: at(51),
        games: 0,
        by: 'Berth',
      },
      {
        node: 'n5',
        cordonedAt: at(66),
        lastGameEndedAt: undefined,
        endedAt: at(67),
        removedAt: at(67),
        games: 0,
        by: 'Berth',
      },
    ],
    left: [
      { node: 'n1', games: 0, state: 'active' },
      { node: 'n7', games: 0, state: 'active' },
      { node: 'n2', games: 0, state: 'held' },
      { node: 'n3', games: 1, state: 'draining' },
    ],
    heldNode: 'n2',
    races: [{ server: 'm-1', kept: true }],
    violations: [],
    twin: 'past',
    seconds: 6,
  };
}

function sample(scene: Scene, minute: number): Sample {
  const target = targetAt(scene, timeOf(scene, minute));
  const nodes: Record<NodeClass, number> = { active: target, pending: 0, draining: 0, held: 0, lost: 0 };
  if (minute >= 15 && minute < 19) Object.assign(nodes, { active: 2, pending: 3 });
  if (minute >= 25) nodes.held = 1;
  if (minute >= 32 && minute < 36) Object.assign(nodes, { active: 4, lost: minute < 34 ? 1 : 0, pending: 1 });
  if (minute >= 50) nodes.draining = 5 - target - (minute > 51 ? 1 : 0) - (minute > 67 ? 1 : 0);
  const shortage = minute === 17 ? 'CapacityShortage' : undefined;
  return {
    at: timeOf(scene, minute),
    target,
    nodes,
    servers: { allocated: minute === 40 ? 9 : 3, ready: 4, starting: 1, ending: 0 },
    waiting: 0,
    effectiveTarget: target,
    degraded: minute === 53 || minute === 54 ? 'ObservationFailed' : shortage,
  };
}

function tick(scene: Scene, minute: number): Tick {
  const changes: Record<number, readonly string[]> = {
    15: ['order 3'],
    25: ['order 1'],
    50: ['patch nodes n3', 'patch nodes n4', 'patch nodes n5', 'delete gameservers m-1', 'delete gameservers m-2'],
    51: ['patch nodes n4', 'end i-4', 'delete nodes n4'],
    58: ['patch nodes n5'],
    66: ['patch nodes n5'],
    67: ['patch nodes n5', 'end i-5', 'delete nodes n5'],
  };
  const of = changes[minute] ?? [];
  const events = ({ 15: 'killed', 51: 'twin', 53: 'blind', 54: 'blind' } as const)[minute] ?? 'none';
  const kubernetes = minute === 16 ? 0 : 4 + 3 * of.length;
  return { at: timeOf(scene, minute), kubernetes, aws: of.length > 0 ? 7 : 2, dynamodb: 2, changes: of, events };
}
