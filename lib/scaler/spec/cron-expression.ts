/**
 * What a cron expression of a schedule may be: five fields as in UNIX. Libraries take more (seconds, years, `@every`,
 * `L`, `W`, `#`, a zone inside), each with a meaning of its own; a file that says one thing here and another elsewhere is
 * refused instead.
 */

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of the values from `min` on. */
  readonly names: readonly string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const FIELDS: readonly Field[] = [
  { name: 'minute', min: 0, max: 59, names: [] },
  { name: 'hour', min: 0, max: 23, names: [] },
  { name: 'day of month', min: 1, max: 31, names: [] },
  { name: 'month', min: 1, max: 12, names: MONTHS },
  { name: 'day of week', min: 0, max: 7, names: DAYS },
];

const EXPECTED = `five fields (${FIELDS.map(({ name }) => name).join(', ')})`;

/** What is wrong with `cron`, as a sentence that says what was expected; undefined: nothing. */
export function cronProblem(cron: string): string | undefined {
  if (/^\s*(CRON_)?TZ=/i.test(cron)) return `expected ${EXPECTED} without a zone: write the zone in timezone`;
  if (/^\s*@/.test(cron)) return `expected ${EXPECTED}: write the times that a name such as @daily stands for`;
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== FIELDS.length) {
    return `expected ${EXPECTED}, got ${fields.length === 1 && fields[0] === '' ? 0 : fields.length}`;
  }
  for (const [at, field] of FIELDS.entries()) {
    const wrong = (fields[at] ?? '').split(',').find((part) => !isPart(part, field));
    if (wrong !== undefined) return `expected in the field for the ${field.name} ${expectedOf(field)}, got "${wrong}"`;
  }
  return hasDay(fields)
    ? undefined
    : `expected a day that there is, got day of month ${fields[2]} in month ${fields[3]}`;
}

/** Days of the months in the longest of years. */
const LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether any day is meant: the 30th of February never comes, and libraries look for it through thousands of years. */
function hasDay([, , days = '', months = '', weekdays = '']: readonly string[]): boolean {
  if (weekdays !== '*') return true;
  const [, , dayField, monthField] = FIELDS;
  if (dayField === undefined || monthField === undefined) return true;
  const first = Math.min(...rangesOf(days, dayField).map((range) => range.first));
  return rangesOf(months, monthField).some(({ first: from, last, step }) =>
    LENGTHS.some((length, at) => at + 1 >= from && at + 1 <= last && (at + 1 - from) % step === 0 && first <= length),
  );
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

function rangesOf(text: string, field: Field): Range[] {
  return text.split(',').flatMap((part) => rangeOf(part, field) ?? []);
}

function expectedOf({ min, max, names }: Field): string {
  const named = names.length === 0 ? '' : ` or ${names[0]} to ${names.at(-1)}`;
  return `*, numbers from ${min} to ${max}${named}, ranges a-b and steps */n or a-b/n, with commas between`;
}

function isPart(part: string, field: Field): boolean {
  return rangeOf(part, field) !== undefined;
}

/** The values that `part` names; undefined: it is no part of such a field. */
function rangeOf(part: string, field: Field): Range | undefined {
  const match = /^(?:(\*)|([0-9]{1,2}|[A-Z]{3})(?:-([0-9]{1,2}|[A-Z]{3}))?)(?:\/([0-9]{1,2}))?$/i.exec(part);
  if (match === null) return undefined;
  const [, star, from, to, by] = match;
  const step = Number(by ?? 1);
  if (step < 1 || step > field.max) return undefined;
  if (star !== undefined) return { first: field.min, last: field.max, step };
  // Without a range, cron implementations differ on what a step means.
  if (by !== undefined && to === undefined) return undefined;
  const first = numberOf(from ?? '', field);
  if (first === undefined) return undefined;
  if (to === undefined) return { first, last: first, step };
  // Sunday ends a range as 7, as in MON-SUN. From Sunday to Sunday is a day to some and a week to others.
  const endsOnSunday = /^SUN$/i.test(to) && field.max === 7;
  if (endsOnSunday && first === 0) return undefined;
  const last = endsOnSunday ? 7 : numberOf(to, field);
  return last !== undefined && first <= last ? { first, last, step } : undefined;
}

function numberOf(text: string, { min, max, names }: Field): number | undefined {
  const named = names.indexOf(text.toUpperCase());
  const value = named === -1 ? (/^\d+$/.test(text) ? Number(text) : Number.NaN) : min + named;
  return value >= min && value <= max ? value : undefined;
}
