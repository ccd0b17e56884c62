import { oneLine } from '../../schema.ts';
import { type EpochMs, isoTime } from '../../time.ts';
import type { GameServerNodeObject } from '../observation.ts';
import type { Condition, PoolStatus } from './status.ts';

/** Characters of one message. Of a pool with hundreds of drains that are blocked it would name each; etcd takes 1.5 MB. */
const MESSAGE_LENGTH = 4_096;

/** What is a time of ours is a text as in RFC 3339 in the cluster, where people read it. */
type InTexts<T> = T extends EpochMs
  ? string
  : T extends readonly (infer Item)[]
    ? readonly InTexts<Item>[]
    : T extends object
      ? { readonly [K in keyof T]: InTexts<T[K]> }
      : T;

/** A condition as the cluster has it. Source: Kubernetes API conventions, "Typical status properties". */
interface StoredCondition extends Condition {
  /** When `status` became what it is, as in RFC 3339. */
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

/** The status of a GameServerNode in the form of `deploy/kubernetes/crd.yaml`; whatever it does not list the cluster drops. */
export interface StatusJson extends InTexts<Omit<PoolStatus, 'degraded' | 'conditions'>> {
  /** The generation of the spec that the status is of. */
  readonly observedGeneration: number;
  readonly conditions: readonly StoredCondition[];
}

/**
 * What `status` comes to in the cluster, after what stands there now. A condition keeps its time while its status does
 * not change. Where the pool could not be seen, what was seen of it last stays, and two conditions say so; what
 * was not known before either is told as it is now.
 */
export function statusJson(
  { degraded, conditions, ...shown }: PoolStatus,
  object: Pick<GameServerNodeObject, 'generation' | 'status'>,
  at: EpochMs,
): StatusJson {
  const before = conditionsIn(object.status);
  const stored = conditions.map(({ type, status, reason, message }): StoredCondition => {
    const old = before.get(type);
    const kept = old?.status === status && typeof old.lastTransitionTime === 'string';
    const lastTransitionTime = kept ? (old.lastTransitionTime as string) : isoTime(at);
    const text = oneLine(message, MESSAGE_LENGTH);
    return { type, status, reason, message: text, lastTransitionTime, observedGeneration: object.generation };
  });
  const told = inTexts(shown);
  if (!isUnobserved(degraded)) return { ...told, observedGeneration: object.generation, conditions: stored };
  const last = (isRecord(object.status) ? object.status : {}) as Partial<StatusJson>;
  const found = stored.filter(({ type, status }) => status !== 'Unknown' || !isKnown(before.get(type)));
  const types = new Set(found.map(({ type }) => type));
  const others = [...before.values()].filter(({ type }) => !types.has(type as Condition['type']));
  return {
    ...last,
    observedGeneration: object.generation,
    conditions: [...found, ...(others as unknown as StoredCondition[])],
  };
}

function inTexts(shown: Omit<PoolStatus, 'degraded' | 'conditions'>): InTexts<typeof shown> {
  const { nextTransition: next, drains, pendingDeletions, pendingIncrease, ...rest } = shown;
  return {
    ...rest,
    ...(next && { nextTransition: { ...next, at: isoTime(next.at) } }),
    ...(drains && { drains: drains.map(withTime) }),
    ...(pendingDeletions && { pendingDeletions: pendingDeletions.map(withTime) }),
    ...(pendingIncrease && { pendingIncrease: withTime(pendingIncrease) }),
  };
}

function withTime<T extends { readonly since?: EpochMs }>({ since, ...rest }: T): Omit<T, 'since'> & { since: string } {
  // Of a drain without a time there is nothing to write, nor a field.
  return (since === undefined ? rest : { ...rest, since: isoTime(since) }) as Omit<T, 'since'> & { since: string };
}

function isKnown(condition: ConditionThere | undefined): boolean {
  return condition?.status === 'True' || condition?.status === 'False';
}

/** Whether the pool could not be seen whole. */
export function isUnobserved(degraded: PoolStatus['degraded']): boolean {
  return degraded?.[0] === 'ObservationFailed';
}

/** A condition that stands in the cluster, where anybody with the right may have written it. */
export interface ConditionThere {
  readonly type: string;
  readonly status?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly lastTransitionTime?: unknown;
}

/** The conditions of a status as it came, by type. */
export function conditionsIn(status: unknown): ReadonlyMap<string, ConditionThere> {
  const list = isRecord(status) && Array.isArray(status.conditions) ? (status.conditions as unknown[]) : [];
  return new Map(
    list.flatMap((one): [string, ConditionThere][] => {
      if (!isRecord(one) || typeof one.type !== 'string') return [];
      return [[one.type, { ...one, type: one.type }]];
    }),
  );
}

/** Whether two values are the same JSON, whatever the order of their names: an API server sorts them. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((value, at) => isSameJson(value, b[at]));
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  const names = Object.keys(a).filter((name) => a[name] !== undefined);
  const others = Object.keys(b).filter((name) => b[name] !== undefined);
  return (
    names.length === others.length && names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name]))
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
