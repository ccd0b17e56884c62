import { oneLine } from '../../schema.ts';
import { SCALER } from '../../settings.ts';
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
  object: Subject & Pick<GameServerNodeObject, 'status' | 'createdAt'>,
  at: EpochMs,
): ClusterEvent[] {
  const there = conditionsIn(object.status);
  return conditions
    .flatMap((now) => ofCondition(now, there, { at, createdAt: object.createdAt }))
    .map((told) => eventOf(told, object, at));
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

interface Times {
  readonly at: EpochMs;
  /** Of the object. */
  readonly createdAt: EpochMs;
}

function ofCondition(now: Condition, there: ReadonlyMap<string, ConditionThere>, times: Times): Told[] {
  const before = lastKnown(there.get(now.type));
  if (isFlapping(now, before, times)) return [];
  if (now.type === 'Valid') return ofValid(now, before);
  if (now.type === 'Degraded') return ofDegraded(now, before);
  return [];
}

/** Of a pool that was not looked at nothing is known that could have changed since. */
function lastKnown(there: ConditionThere | undefined): ConditionThere | undefined {
  return there?.status === 'Unknown' ? undefined : there;
}

/** A new object that is accepted as it is needs no word. */
function ofValid(now: Condition, before: ConditionThere | undefined): Told[] {
  const { status, reason, message } = now;
  if (status === before?.status && reason === before.reason && saysTheSame(now, textOf(before.message))) return [];
  if (status === 'False') return [{ type: 'Warning', reason, message }];
  if (message !== '') return [{ type: 'Warning', reason: 'ProviderWarning', message }];
  return before === undefined ? [] : [{ type: 'Normal', reason, message: 'the object is acted on, without warnings' }];
}

/** By the reason: messages name nodes and numbers, which change with every tick. */
function ofDegraded({ status, reason, message }: Condition, before: ConditionThere | undefined): Told[] {
  // Nobody has looked: whatever there is to say of it, condition Valid says.
  if (status === 'Unknown') return [];
  if (status === (before?.status ?? 'False') && (status === 'False' || reason === before?.reason)) return [];
  // What is wrong with the pool was told before it could not be seen, and is still so after it.
  if (status === before?.status && [reason, before.reason].includes('ObservationFailed')) return [];
  if (status === 'True') return [{ type: 'Warning', reason, message }];
  return [{ type: 'Normal', reason: 'Recovered', message: `not any more: ${textOf(before?.message)}` }];
}

/** Reasons that come and go by the minute where the outside answers only now and then. */
const OF_CALLS: readonly unknown[] = ['ProviderUnreachable', 'ObservationFailed', 'Unknown', 'TerminateRefused'];

/** Whether a condition goes back and forth for want of answers: told each time, it would hide all other events. */
function isFlapping(
  { status, reason }: Condition,
  before: ConditionThere | undefined,
  { at, createdAt }: Times,
): boolean {
  if (before === undefined || status === before.status) return false;
  if (![reason, before.reason].some((one) => OF_CALLS.includes(one))) return false;
  const since = Date.parse(textOf(before.lastTransitionTime));
  const isRecent = (earlier: number, later: number) =>
    later >= earlier && later - earlier < SCALER.flappingSeconds * 1000;
  // What an object began with came from nothing that went before.
  return isRecent(since, at) && !isRecent(createdAt, since);
}

/** Numbers change with every machine that comes, and what a provider says of an outage with every call. */
function saysTheSame({ reason, message }: Condition, before: string): boolean {
  if (reason === 'ProviderUnreachable' || message === before) return true;
  const [now, then] = [message, before].map((text) => text.replace(/\d+/g, '0'));
  return reason === 'Accepted' && now === then;
}

/** What somebody has written by hand may be anything, and nothing that there is a text for. */
function textOf(message: unknown): string {
  return typeof message === 'string' ? message : '';
}
