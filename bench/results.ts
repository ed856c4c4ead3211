import type { Measurement } from './messages.ts'
import { ratios } from './statistics.ts'

/** What was measured of one member, a measurement a round. */
export type Row = { name: string; floors: readonly (readonly string[])[]; measurements: readonly Measurement[] }
export type GroupResult = { name: string; about: string; rows: readonly Row[]; notes?: readonly string[] }

/** The quantities of a measurement that can be compared. */
export type Quantity =
  | 'wallMs'
  | 'cpuMs'
  | 'peakRssBytes'
  | 'writtenBytes'
  | 'fileBytes'
  | 'requests'
  | 'customers'
  | 'longestBlockMs'
  | 'longestWorkMs'

/** What was measured of a member in all of its rounds; nothing when it was not measured. */
export function samplesOf(results: readonly GroupResult[], member: string, quantity: Quantity): number[] {
  const rows = results.flatMap((group) => group.rows)
  const measurements = rows.find(({ name }) => name === member)?.measurements ?? []
  return measurements.flatMap((measurement) => measurement[quantity] ?? [])
}

/** A member's quantity over the sum of the others', round by round. */
export function ratiosOf(
  results: readonly GroupResult[],
  { of, over, quantity = 'wallMs' }: { of: string; over: readonly string[]; quantity?: Quantity },
): number[] {
  return ratios(samplesOf(results, of, quantity), ...over.map((floor) => samplesOf(results, floor, quantity)))
}

/** One quantity of a member over another of the same measurement. */
export function sharesOf(results: readonly GroupResult[], member: string, what: Quantity, per: Quantity): number[] {
  return ratios(samplesOf(results, member, what), samplesOf(results, member, per))
}
