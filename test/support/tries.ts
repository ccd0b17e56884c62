/**
 * How many histories are tried of each kind. `HISTORIES=100000 npx vitest run test/faults` for a night. A history
 * takes some twenty milliseconds of one core.
 */
export const HISTORIES = Number(process.env.HISTORIES ?? 700);

/** Milliseconds that trying them may take: no test passes or fails by its duration. */
export const HISTORIES_MS = 60_000 + HISTORIES * 1_000;
