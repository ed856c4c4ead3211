import { z } from 'zod'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const FORM = /^(\d{1,12}(?:\.\d{1,3})?)(ms|s|m|h|d)$/
const EXAMPLES = 'must be a duration such as 500ms, 30s, 15m, 6h or 1d'

/** `500ms`, `30s`, `15m`, `6h`, `1d` → whole milliseconds; undefined for anything else. */
function durationMs(text: string): number | undefined {
  const [, amount, unit] = FORM.exec(text) ?? []
  const unitMs = UNITS[unit ?? '']
  return unitMs === undefined ? undefined : Math.round(Number(amount) * unitMs)
}

/** A duration of the configuration, in milliseconds once parsed. Both bounds are written as durations and included. */
export function duration({ min, max }: { min: string; max: string }) {
  const minMs = durationMs(min) ?? 0
  const maxMs = durationMs(max) ?? 0
  return z
    .string(EXAMPLES)
    .regex(FORM, EXAMPLES)
    .transform((text, context) => {
      const ms = durationMs(text) ?? Number.NaN
      if (ms >= minMs && ms <= maxMs) return ms
      context.addIssue({ code: 'custom', message: `must be a duration from ${min} to ${max}` })
      return z.NEVER
    })
}
