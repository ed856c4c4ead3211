import { message } from './worker-log.ts'

/** Waits of a worker that publishes at once. */
export const SOON = { publishLookMs: 20, publishQuietMs: 200, publishLatestMs: 3_600_000, publishRestMs: 100 }

/** The line of a worker that has published a copy. */
export const published = message('copy published')
