import { type EpochMs, isoTime } from '../../time.ts';
import { isAhead } from '../clock-skew.ts';

/**
 * What the scaler writes on a node. Nothing else records who cordoned it, and what somebody else cordoned is never
 * undone. Set and taken off in the same patch as `spec.unschedulable`.
 */
export const MARKS = {
  /** Name of the GameServerNode that cordoned the node. */
  cordonedBy: 'stable.agones.dev/cordoned-by',
  /** RFC 3339. */
  cordonedAt: 'stable.agones.dev/cordoned-at',
  /** The machine that is about to be ended: from here on the node is not brought back. */
  pendingDelete: 'stable.agones.dev/pending-delete',
} as const;

/** Annotations as a merge patch has them: null takes one off. */
export type Annotations = Readonly<Record<string, string | null>>;

export function cordonMarks(object: string, now: EpochMs): Annotations {
  return { [MARKS.cordonedBy]: object, [MARKS.cordonedAt]: isoTime(now) };
}

export const NO_MARKS: Annotations = {
  [MARKS.cordonedBy]: null,
  [MARKS.cordonedAt]: null,
  [MARKS.pendingDelete]: null,
};

interface Annotated {
  readonly annotations: Readonly<Record<string, string>>;
}

/** The GameServerNode that says it has cordoned the node, whether or not there still is one of that name. */
export function cordonerOf({ annotations }: Annotated): string | undefined {
  return annotations[MARKS.cordonedBy];
}

export function isMarkedBy(object: string, node: Annotated): boolean {
  return cordonerOf(node) === object;
}

export function isPendingDelete({ annotations }: Annotated): boolean {
  return annotations[MARKS.pendingDelete] !== undefined;
}

/** `Date.parse` alone takes "game 12" for a day in December. */
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * When the scaler cordoned the node; undefined: the mark says nothing that can be read, or a time that is ahead of `now` by
 * more than clocks differ, until which the cordon would not settle.
 */
export function cordonedAtOf({ annotations }: Annotated, now: EpochMs): EpochMs | undefined {
  const text = annotations[MARKS.cordonedAt] ?? '';
  const at = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) || isAhead(at as EpochMs, now) ? undefined : (at as EpochMs);
}
