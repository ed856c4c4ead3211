/** What clocks may differ by, or be set back by, without any harm. Milliseconds. */
export const LARGEST_STEP_MS = 2 * 3_600_000
