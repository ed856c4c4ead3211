import { z } from 'zod'
import type { Retention } from '../../run.ts'
import { DURATION_FORM, durationMs } from '../../time/duration-text.ts'

const FOREVER = 'forever'
const VALUES = `a duration from 1d to 36500d, such as 365d, or ${FOREVER}`
const MESSAGE = `must be ${VALUES}`
const SHORTEST_MS = 86_400_000
const LONGEST_MS = 36_500 * SHORTEST_MS

/** How long rows are kept, in the configuration. */
export const retention = z
  .strictObject({
    changes: limit(
      'How long changes are kept, and rejected records after they were resolved; history and daily counts begin where changes do.',
    ),
    runs: limit('How long reports of runs are kept that no row refers to.'),
    removedCustomers: limit('How long customers are kept after they were removed.'),
  })
  .exactOptional()
  .meta({ description: 'How long old rows are kept, in days; without it, for ever. Applied after each run.' })

function limit(description: string) {
  return z
    .string(MESSAGE)
    .regex(new RegExp(`^${FOREVER}$|${DURATION_FORM.source}`), MESSAGE)
    .transform((text, context) => {
      if (text === FOREVER) return FOREVER
      const ms = durationMs(text) ?? Number.NaN
      if (ms >= SHORTEST_MS && ms <= LONGEST_MS) return ms
      context.addIssue({ code: 'custom', message: MESSAGE })
      return z.NEVER
    })
    .exactOptional()
    .meta({ title: VALUES, description, default: FOREVER, examples: ['365d'] })
}

type Written = z.output<typeof retention>

/** The limits of an organization: its own, then the shared ones; undefined where nothing is set. */
export function mergeRetention(shared: Written | undefined, own: Written | undefined): Retention | undefined {
  const { changes, runs, removedCustomers } = { ...shared, ...own }
  const limits = {
    changesMs: milliseconds(changes),
    resolvedRejectsMs: milliseconds(changes),
    runsMs: milliseconds(runs),
    removedCustomersMs: milliseconds(removedCustomers),
  }
  return Object.values(limits).every((ms) => ms === undefined) ? undefined : limits
}

function milliseconds(written: number | typeof FOREVER | undefined): number | undefined {
  return written === FOREVER ? undefined : written
}
