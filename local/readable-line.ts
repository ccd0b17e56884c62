/** What the logger adds to every line, and the terminal has no use for: its time, its function, its invocation. */
const OF_EVERY_LINE = new Set([
  ...['level', 'message', 'timestamp', 'service', 'sampling_rate', 'xray_trace_id', 'cold_start'],
  ...['function_arn', 'function_memory_size', 'function_name', 'function_request_id'],
]);

/**
 * A line of a function's logger as people read it: `WARN message name=value …`. Undefined: it holds metrics, which are for
 * CloudWatch. Any other as it is.
 */
export function readableLine(line: string): string | undefined {
  const { level, message, ...rest } = objectIn(line);
  if ('_aws' in rest) return undefined;
  if (typeof level !== 'string' || typeof message !== 'string') return line;
  const fields = Object.entries(rest).filter(([name]) => !OF_EVERY_LINE.has(name));
  return [level, message, ...fields.map(([name, value]) => `${name}=${shown(value)}`)].join(' ');
}

function objectIn(line: string): Readonly<Record<string, unknown>> {
  if (!line.startsWith('{')) return {};
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}

/** A text in quotes only where its end would not be seen without. */
function shown(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
