/** A problem with an input file: where, what was expected, what stood there. */
export interface InputProblem {
  readonly file: string;
  /** Line of the file, the header is line 1. Left out if it is the file as a whole. */
  readonly line?: number;
  /** Name of the column. Left out if it is the line as a whole. */
  readonly column?: string;
  readonly message: string;
}

/** How many problems are listed; of the others only the number is told, so that a wrong file of a gigabyte costs no memory. */
export const LISTED_PROBLEMS = 20;

/** What is wrong with the input, as it is found. */
export class ProblemList {
  readonly listed: InputProblem[] = [];
  total = 0;

  add(problem: InputProblem): void {
    this.total += 1;
    if (this.listed.length < LISTED_PROBLEMS) this.listed.push(problem);
  }
}

/** `nodes.csv, line 17, column cpu_milli: expected …`. */
function problemText({ file, line, column, message }: InputProblem): string {
  const where = [
    file,
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(column === undefined ? [] : [`column ${column}`]),
  ];
  return `${where.join(', ')}: ${message}`;
}

/** Thrown when the demo cannot start with what it was given; nothing was started. Its message is for the user, whole. */
export class BadInputError extends Error {
  override readonly name = 'BadInputError';
}

/** Throws what `problems` holds, if it holds anything. */
export function refuseProblems(problems: ProblemList): void {
  if (problems.total === 0) return;
  const lines = problems.listed.map(problemText);
  const more = problems.total - problems.listed.length;
  if (more > 0) lines.push(`and ${more} more`);
  throw new BadInputError(lines.join('\n'));
}
