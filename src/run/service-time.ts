import type { Source } from '../source/customers.ts'

type Answered = { source: Partial<Pick<Source, 'clockOffsetMs'>>; now: () => number }

/** What the clock of the service shows now, by the `Date` of its answers, in Unix milliseconds; undefined where it sends none. */
export function serviceTimeMs({ source: { clockOffsetMs }, now }: Answered): number | undefined {
  return clockOffsetMs === undefined ? undefined : now() + clockOffsetMs
}
