import { z } from 'zod'
import { DURATION_FORM, durationMs } from '../../time/duration-text.ts'

const EXAMPLES = 'must be a duration such as 500ms, 30s, 15m, 6h or 1d'

/** A duration of the configuration, in milliseconds once parsed. Both bounds are written as durations and included. */
export function duration({ min, max }: { min: string; max: string }) {
  const minMs = durationMs(min) ?? 0
  const maxMs = durationMs(max) ?? 0
  const values = `a duration from ${min} to ${max}`
  return z
    .string(EXAMPLES)
    .regex(DURATION_FORM, EXAMPLES)
    .transform((text, context) => {
      const ms = durationMs(text) ?? Number.NaN
      if (ms >= minMs && ms <= maxMs) return ms
      context.addIssue({ code: 'custom', message: `must be ${values}` })
      return z.NEVER
    })
    .meta({ title: values })
}
