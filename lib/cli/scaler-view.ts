import * as z from 'zod/mini';
import type { Deed } from '../scaler/act/report.ts';
import type { Ledger } from '../scaler/observation.ts';
import { epochMs, oneLine } from '../schema.ts';
import { type EpochMs, isoTime } from '../time.ts';
import { type Cell, counted, type NumberText, table } from './table.ts';

/** A status of a GameServerNode as far as the command shows it; what is not of its shape is not shown. */
const count = z.optional(z.number());
const statusSchema = z.object({
  effectiveTarget: count,
  targetSource: z.optional(z.string()),
  nextTransition: z.optional(
    z.object({ at: z.union([epochMs, z.string()]), target: z.object({ replicas: z.number() }) }),
  ),
  nodes: z.optional(z.object({ active: count, pending: count, draining: count, held: count, notReady: count })),
  provider: z.optional(z.object({ name: z.string(), desired: count, min: count, max: count })),
  drains: z.optional(
    z.array(
      z.object({
        node: z.string(),
        since: z.optional(z.union([z.number(), z.string()])),
        protectedServers: count,
        gamePods: count,
      }),
    ),
  ),
  conditions: z._default(
    z.array(
      z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z._default(z.string(), '') }),
    ),
    [],
  ),
});
type Status = z.output<typeof statusSchema>;
type Condition = Status['conditions'][number];

/** What the command shows of a pool. */
export interface PoolView {
  /** Name of the GameServerNode. */
  readonly object: string;
  readonly status: Status | undefined;
  /** The weightiest condition, in its own word. */
  readonly state: string;
  /** Whether it is acted on, and nothing about it is degraded. */
  readonly well: boolean;
  /** What conditions say, and what is under way, a line each. */
  readonly notes: readonly string[];
}

/** `status` as it came from the cluster or from a tick; undefined: no tick has looked at the object yet. */
export function poolView(object: string, status: unknown, ledger: Ledger | undefined, now: EpochMs): PoolView {
  const read = statusSchema.safeParse(status ?? undefined);
  if (!read.success) {
    const state = status === undefined || status === null ? 'NotSeenYet' : 'StatusUnreadable';
    return { object, status: undefined, state, well: false, notes: underWay(ledger, now) };
  }
  const { data } = read;
  const [valid, degraded] = ['Valid', 'Degraded'].map((type) => conditionOf(data, type));
  const well = valid?.status === 'True' && degraded?.status !== 'True';
  return {
    object,
    status: data,
    state: stateOf(data),
    well,
    notes: [...conditionNotes(data), ...drainNotes(data, now), ...underWay(ledger, now)],
  };
}

/** What there is to say of an object that is gone, and of which something is still under way; undefined: nothing. */
export function goneView(object: string, ledger: Ledger, now: EpochMs): PoolView | undefined {
  const { registration } = ledger;
  const leaving = registration === undefined ? [] : [`its nodes leave pool ${registration.pool} as their tasks end`];
  const notes = [...leaving, ...underWay(ledger, now)];
  return notes.length === 0 ? undefined : { object, status: undefined, state: 'Deleted', well: true, notes };
}

function conditionOf({ conditions }: Status, type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type);
}

function stateOf(status: Status): string {
  const valid = conditionOf(status, 'Valid');
  if (valid === undefined) return 'NotSeenYet';
  if (valid.status !== 'True') return valid.reason;
  const degraded = conditionOf(status, 'Degraded');
  if (degraded?.status === 'True') return degraded.reason;
  return conditionOf(status, 'AtTarget')?.reason ?? valid.reason;
}

function conditionNotes(status: Status): string[] {
  const telling = status.conditions.filter(({ type, status: is, message }) => {
    if (message === '' || type === 'AtTarget') return false;
    return type === 'Valid' || is === 'True';
  });
  return telling.map(({ type, reason, message }) =>
    type === 'Valid' && reason === 'Accepted' ? `warning: ${message}` : `${reason}: ${message}`,
  );
}

function drainNotes({ drains = [] }: Status, now: EpochMs): string[] {
  return drains.map(({ node, since, protectedServers = 0, gamePods = 0 }) => {
    const begun = since === undefined ? undefined : typeof since === 'number' ? since : Date.parse(since);
    const age = begun === undefined || Number.isNaN(begun) ? '' : ` for ${ageText(now - begun)}`;
    return `draining${age}: ${node}, ${counted(protectedServers, 'game')} played, ${counted(gamePods, 'game pod')}`;
  });
}

function underWay(ledger: Ledger | undefined, now: EpochMs): string[] {
  if (ledger === undefined) return [];
  const { pendingDeletions, pendingIncrease } = ledger;
  const removals = pendingDeletions.map(
    ({ node, instance, since }) =>
      `being removed for ${ageText(now - since)}: ${node}${instance === undefined ? '' : ` (${instance})`}`,
  );
  if (pendingIncrease === undefined) return removals;
  return [
    ...removals,
    `ordered ${ageText(now - pendingIncrease.since)} ago: ${counted(pendingIncrease.count, 'node')}`,
  ];
}

/** `40 s`, `12 min`, `3 h`, `2 d`. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 48 * 3600 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

const HEAD = ['object', 'provider', 'target', 'active', 'pending', 'draining', 'held', 'state', 'next change'];

/** The pools of a cluster, each with what there is to say of it below. */
export function poolsText(pools: readonly PoolView[]): string {
  const rows = pools.map(({ object, status, state }): (Cell | NumberText)[] => {
    const { provider, effectiveTarget, nodes, targetSource } = status ?? {};
    const source = targetSource === undefined || targetSource === 'base' ? '' : ` (${targetSource})`;
    return [
      object,
      provider === undefined ? '-' : limitsText(provider),
      effectiveTarget === undefined ? '-' : { number: `${effectiveTarget}${source}` },
      ...[nodes?.active, nodes?.pending, nodes?.draining, nodes?.held].map((value) => value ?? '-'),
      state,
      nextText(status),
    ];
  });
  const notes = pools.flatMap(({ object, notes: told }) => told.map((note) => lineOf(`${object}: ${note}`)));
  return [table(HEAD, rows, 'no GameServerNode'), ...notes].join('\n');
}

/** Characters of a line: of a message as it stands in a status, and whose it is. */
const LINE_LENGTH = 4_500;

/** What is said of an object, as one line, whatever is in it. */
export function lineOf(text: string): string {
  return oneLine(text, LINE_LENGTH);
}

function limitsText({ name, min, max, desired }: NonNullable<Status['provider']>): string {
  return min === undefined || max === undefined ? name : `${name}, group of ${desired ?? '?'} (${min} to ${max})`;
}

function nextText(status: Status | undefined): string {
  const next = status?.nextTransition;
  if (next === undefined) return '-';
  const at = typeof next.at === 'number' ? isoTime(next.at) : next.at;
  return `${next.target.replicas} at ${at}`;
}

/** What a tick would do, a line each. */
export function deedText(deed: Deed): string {
  switch (deed.kind) {
    case 'cordoned':
      return `cordon node ${deed.node}`;
    case 'uncordoned':
      return `bring node ${deed.node} back`;
    case 'increased':
      return `order ${counted(deed.by, 'node')}`;
    case 'server-deleted':
      return `delete game server ${deed.namespace}/${deed.name}, which holds no session`;
    case 'machine-ended':
      return `end the machine of node ${deed.node}${deed.instance === undefined ? '' : ` (${deed.instance})`}`;
    case 'node-deleted':
      return `delete node ${deed.node}`;
    case 'registered':
      return `register node ${deed.node} in pool ${deed.pool}`;
    case 'unregistered':
      return `take node ${deed.node} out of pool ${deed.pool}`;
  }
}
