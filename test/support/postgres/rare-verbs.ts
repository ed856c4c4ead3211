/** When verbs are called. */
export const NOW_MS = Date.UTC(2026, 2, 3)

/** Both clocks at that moment. */
export const CLOCKS = { nowMs: NOW_MS, monotonicMs: 1 }

/** The customer to be forgotten. */
export const CUSTOMER = { organization: 'acme', id: 'bbbbbbbb-0000-4000-8000-000000000000', ...CLOCKS }

/** The traces of a customer who left none. */
export const NO_TRACES = { id: [], values: [] }
