import { z } from 'zod'

const CONCURRENCY = 'must be a whole number from 1 to 256'

/** How many organizations a worker mirrors at the same time, where the configuration does not say. */
const DEFAULT_CONCURRENCY = 8

/** How a worker takes jobs, in the configuration. */
export const jobs = z.strictObject({
  concurrency: z
    .int(CONCURRENCY)
    .min(1, CONCURRENCY)
    .max(256, CONCURRENCY)
    .exactOptional()
    .meta({ description: 'Organizations that a worker mirrors at the same time.', default: DEFAULT_CONCURRENCY }),
})

export type JobSettings = { concurrency: number }

export function jobSettings(written: z.output<typeof jobs> | undefined): JobSettings {
  return { concurrency: written?.concurrency ?? DEFAULT_CONCURRENCY }
}
