import { LARGEST_STEP_MS } from '../../time/clock-tolerance.ts'

/** The code in `why` of an organization whose last reading or proof has a date in the future. */
export const FUTURE_DATE = 'future-date'

/** Whether a date of this age is further ahead than clocks that are nearly right. */
export function isInFuture(ageMs: number | undefined): boolean {
  return ageMs !== undefined && ageMs < -LARGEST_STEP_MS
}

/** What to do about such dates, a line for each organization that has one. */
export function futureDateText(lines: readonly { organization: string; why: readonly string[] }[]): string {
  return lines
    .filter(({ why }) => why.includes(FUTURE_DATE))
    .map(({ organization }) => `${organization}: its date lies in the future. Check the clock, then sync again.\n`)
    .join('')
}
