const UNITS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** How durations are written, in the configuration and on the command line: a number with its unit. */
const DURATION_FORM = /^(\d{1,12}(?:\.\d{1,3})?)(ms|s|m|h|d)$/

/** `500ms`, `30s`, `15m`, `6h`, `1d` → whole milliseconds; undefined for anything else. */
export function durationMs(text: string): number | undefined {
  const [, amount, unit] = DURATION_FORM.exec(text) ?? []
  const unitMs = UNITS[unit ?? '']
  return unitMs === undefined ? undefined : Math.round(Number(amount) * unitMs)
}

/** How long to wait after try `tries`, from 1: between `least` of a bound and all of it, which doubles up to `longestMs`. `random`: 0 to 1. */
export function backoffMs(
  tries: number,
  random: number,
  { firstMs, longestMs, least = 0 }: { firstMs: number; longestMs: number; least?: number },
): number {
  const boundMs = Math.min(longestMs, firstMs * 2 ** (tries - 1))
  return Math.round(boundMs * (least + (1 - least) * random))
}
