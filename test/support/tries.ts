/**
 * How many histories are tried of each kind. `HISTORIES=100000 npx vitest run test/faults` for a night. A history
 * takes some twenty milliseconds of one core.
 */
export const HISTORIES = Number(process.env.HISTORIES ?? 700);

/** Milliseconds that trying them may take: no test passes or fails by its duration. */
export const HISTORIES_MS = 60_000 + HISTORIES * 1_000;

/** How many histories of slots are tried, which take some three milliseconds each. */
export const SLOT_HISTORIES = Number(process.env.HISTORIES ?? 4_000);

export const SLOT_HISTORIES_MS = 60_000 + SLOT_HISTORIES * 1_000;
