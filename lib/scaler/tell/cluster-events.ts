import { oneLine } from '../../schema.ts';
import type { EpochMs } from '../../time.ts';
import type { Deed, Report } from '../act/report.ts';
import type { GameServerNodeObject } from '../observation.ts';
import type { ClusterEvent } from '../ports.ts';
import type { Condition, PoolStatus } from './status.ts';
import { type ConditionThere, conditionsIn } from './status-json.ts';

/** Characters of an event's message, as the API server takes them (`validation.go` of core/v1 events). */
const MESSAGE_LENGTH = 1_024;

type Told = Pick<ClusterEvent, 'type' | 'reason' | 'message'>;

type Subject = Pick<GameServerNodeObject, 'name' | 'uid'>;

/** What `kubectl describe` is to show of what a tick has done to nodes and machines. */
export function deedEvents({ deeds }: Pick<Report, 'deeds'>, object: Subject, at: EpochMs): ClusterEvent[] {
  return deeds.flatMap(ofDeed).map((told) => eventOf(told, object, at));
}

/**
 * What it is to show of what has changed since the status that `object` has: whether it is acted on, and whether all is as it
 * should be. A status that stays the same tells nothing.
 */
export function conditionEvents(
  { conditions }: Pick<PoolStatus, 'conditions'>,
  object: Subject & Pick<GameServerNodeObject, 'status'>,
  at: EpochMs,
): ClusterEvent[] {
  const there = conditionsIn(object.status);
  return conditions.flatMap((now) => ofCondition(now, there)).map((told) => eventOf(told, object, at));
}

function eventOf({ type, reason, message }: Told, { name, uid }: Subject, at: EpochMs): ClusterEvent {
  return { object: { name, uid }, type, reason, message: oneLine(message, MESSAGE_LENGTH), at };
}

function ofDeed(deed: Deed): Told[] {
  const normal = (reason: string, message: string): Told[] => [{ type: 'Normal', reason, message }];
  switch (deed.kind) {
    case 'cordoned':
      return normal('NodeCordoned', `node ${deed.node} is cordoned, to be drained of game servers without a session`);
    case 'uncordoned':
      return normal('NodeUncordoned', `node ${deed.node} is brought back`);
    case 'increased':
      return normal('NodesOrdered', `${deed.by} more ${deed.by === 1 ? 'node is' : 'nodes are'} ordered`);
    case 'machine-ended':
      return normal('MachineEnded', `the machine of node ${deed.node} is ended${ofInstance(deed.instance)}`);
    case 'node-deleted':
      return normal('NodeRemoved', `node ${deed.node} is removed`);
    case 'registered':
      return normal('NodeRegistered', `node ${deed.node} is registered in pool ${deed.pool}`);
    case 'unregistered':
      return normal('NodeUnregistered', `node ${deed.node} is taken out of pool ${deed.pool}${orphans(deed.orphaned)}`);
    // As many as there are servers on a node: Agones tells of each itself.
    case 'server-deleted':
      return [];
  }
}

function ofInstance(instance: string | undefined): string {
  return instance === undefined ? '' : ` (${instance})`;
}

function orphans(count: number): string {
  return count === 0 ? '' : `, which orphans ${count} ${count === 1 ? 'task' : 'tasks'}`;
}

function ofCondition(now: Condition, there: ReadonlyMap<string, ConditionThere>): Told[] {
  const before = there.get(now.type);
  if (now.type === 'Valid') return ofValid(now, before);
  if (now.type === 'Degraded') return ofDegraded(now, before);
  return [];
}

/** A new object that is accepted as it is needs no word. */
function ofValid({ status, reason, message }: Condition, before: ConditionThere | undefined): Told[] {
  if (status === before?.status && reason === before.reason && message === before.message) return [];
  if (status === 'False') return [{ type: 'Warning', reason, message }];
  if (message !== '') return [{ type: 'Warning', reason: 'ProviderWarning', message }];
  return before === undefined ? [] : [{ type: 'Normal', reason, message: 'the object is acted on, without warnings' }];
}

/** By the reason: messages name nodes and numbers, which change with every tick. */
function ofDegraded({ status, reason, message }: Condition, before: ConditionThere | undefined): Told[] {
  if (status === (before?.status ?? 'False') && (status === 'False' || reason === before?.reason)) return [];
  if (status === 'True') return [{ type: 'Warning', reason, message }];
  return [{ type: 'Normal', reason: 'Recovered', message: `not any more: ${textOf(before?.message)}` }];
}

/** What somebody has written by hand may be anything, and nothing that there is a text for. */
function textOf(message: unknown): string {
  return typeof message === 'string' ? message : '';
}
