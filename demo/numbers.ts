const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** 8,152 */
export function whole(value: number): string {
  return GROUPED.format(value);
}

/** A number with so many digits as tell it from its neighbours: 0.214, 6.48, 35.2, 1,204. */
export function figure(value: number): string {
  const size = Math.abs(value);
  const digits = size === 0 || size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return new Intl.NumberFormat('en-US', { maximumFractionDigits: digits }).format(value);
}

/** 12.4 % of a part; 0.031 % of a small one. */
export function percent(part: number): string {
  return `${figure(part * 100)} %`;
}

/** 3 min 20 s */
export function duration(seconds: number): string {
  if (seconds < 60) return `${figure(seconds)} s`;
  const rounded = Math.round(seconds);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}

/** Day and time of day since the start of the trace: `day 3, 07:40`. */
export function simulatedTime(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const two = (value: number) => String(value).padStart(2, '0');
  return `day ${Math.floor(minutes / 1_440)}, ${two(Math.floor(minutes / 60) % 24)}:${two(minutes % 60)}`;
}

/** 23:05, of a clock on a wall in `timezone`. */
export function clockTime(at: number, timezone: string): string {
  return new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: timezone }).format(at);
}

/** The host of a private DNS name: `ip-10-0-0-7` of `ip-10-0-0-7.eu-central-1.compute.internal`. */
export function nodeText(node: string): string {
  return node.split('.')[0] ?? node;
}
