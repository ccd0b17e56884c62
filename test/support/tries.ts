/**
 * How many histories are tried of each kind, and which: the same in every run, so that a test passes or fails by the
 * code alone. For a night of others: `HISTORIES=100000 npx vitest run test/faults`, or `SEED=7` for as many as ever.
 */
const { HISTORIES: asked, SEED: seed } = process.env;

/** The seed of all that is random in a run, or undefined for another one each time. */
export const RUN_SEED = seed !== undefined ? Number(seed) : asked === undefined ? 20_270_301 : undefined;

const many = (usual: number) => Number(asked ?? usual);

/** Histories of plans. One takes some twenty milliseconds of one core. */
export const HISTORIES = many(700);

/** Milliseconds that trying them may take: no test passes or fails by its duration. */
export const HISTORIES_MS = 60_000 + HISTORIES * 1_000;

/** Histories of slots, which take some three milliseconds each. */
export const SLOT_HISTORIES = many(4_000);

export const SLOT_HISTORIES_MS = 60_000 + SLOT_HISTORIES * 1_000;

/** Histories of ticks of the scaler. */
export const TICK_HISTORIES = many(2_500);

/** Histories of the scaler's functions, with leases. */
export const LEASE_HISTORIES = many(3_000);

/** Histories of the scaler over HTTP, which take a second each. */
export const HTTP_HISTORIES = Math.ceil(many(3_000) / 100);
