import { z } from 'zod'
import type { Job } from 'bullmq'

/** What a job keeps between two starts, because several workers may run it in turn. */
export type JobProgress = {
  /** How long it has waited since it last saved a page. */
  waitedMs: number
  /** Until when its service asked it to wait, in Unix milliseconds; undefined if the service named no time. */
  namedUntilMs?: number | undefined
  /** When its next attempt follows a failure, in Unix milliseconds. */
  retryAtMs?: number | undefined
  /** How many workers in a row did not have its organization in their configuration. */
  unknownTo?: number | undefined
}

const progress = z.object({
  waitedMs: z.number().nonnegative(),
  namedUntilMs: z.number().optional(),
  retryAtMs: z.number().optional(),
  unknownTo: z.number().optional(),
})

/** The progress of a job; none where it has none yet, or where a newer version wrote it. */
export function progressOf(job: Pick<Job, 'progress'>): JobProgress {
  return progress.catch({ waitedMs: 0 }).parse(job.progress)
}
