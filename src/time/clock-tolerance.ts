/** The largest harmless difference between clocks, in milliseconds. */
export const LARGEST_STEP_MS = 2 * 3_600_000
