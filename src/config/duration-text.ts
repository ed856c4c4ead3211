const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** How durations are written, in the configuration and on the command line: a number with its unit. */
export const DURATION_FORM = /^(\d{1,12}(?:\.\d{1,3})?)(ms|s|m|h|d)$/

/** `500ms`, `30s`, `15m`, `6h`, `1d` → whole milliseconds; undefined for anything else. */
export function durationMs(text: string): number | undefined {
  const [, amount, unit] = DURATION_FORM.exec(text) ?? []
  const unitMs = UNITS[unit ?? '']
  return unitMs === undefined ? undefined : Math.round(Number(amount) * unitMs)
}
