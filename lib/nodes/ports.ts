/** Ranges of ports, both ends included, sorted and merged. */
export type PortRanges = readonly (readonly [from: number, to: number])[];

export const MAX_PORT = 65_535;

/**
 * The ranges that a text like `22,80-90` names; undefined if it names none, or a port outside 0..65535, or a range that
 * runs backwards. An empty text is no ports. Nomad takes 65536 here and then indexes past its bitmap; Berth does not.
 */
export function parsePortRanges(text: string): PortRanges | undefined {
  const ranges: [number, number][] = [];
  for (const part of text.split(',')) {
    const entry = part.trim();
    if (entry === '') {
      if (text.trim() === '') continue;
      return undefined;
    }
    const match = /^(\d{1,5})(?:\s*-\s*(\d{1,5}))?$/.exec(entry);
    if (!match) return undefined;
    const from = Number(match[1]);
    const to = match[2] === undefined ? from : Number(match[2]);
    if (to > MAX_PORT || from > to) return undefined;
    ranges.push([from, to]);
  }
  return mergeRanges(ranges);
}

/** Ranges in order, those that touch or overlap made one: overlapping reservations are no collision (hashicorp/nomad#13505). */
export function mergeRanges(ranges: readonly (readonly [number, number])[]): PortRanges {
  const merged: [number, number][] = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

/** Whether `port` lies in one of `ranges`. */
export function inRanges(ranges: PortRanges, port: number): boolean {
  return ranges.some(([from, to]) => from <= port && port <= to);
}

/** How many ports `ranges` hold. */
export function countPorts(ranges: PortRanges): number {
  return ranges.reduce((count, [from, to]) => count + to - from + 1, 0);
}
