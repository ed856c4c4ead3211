import type { Measurement } from './messages.ts'

/** The least, the middle and the greatest of some samples. */
export type Spread = { min: number; median: number; max: number }

/** Undefined when there are no samples. The median of an even number is the mean of the two in the middle. */
export function spreadOf(samples: readonly number[]): Spread | undefined {
  const sorted = samples.toSorted((a, b) => a - b)
  const [min, max] = [sorted.at(0), sorted.at(-1)]
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]]
  if (min === undefined || max === undefined || low === undefined || high === undefined) return undefined
  return { min, median: (low + high) / 2, max }
}

/**
 * Each sample over the sum of those taken in the same round, so that what slows the machine for a while slows both.
 * Rounds in which one of them is missing are left out.
 */
function ratios(samples: readonly number[], ...under: readonly (readonly number[])[]): number[] {
  return samples.flatMap((sample, round) => {
    const floors = under.flatMap((floor) => floor[round] ?? [])
    const sum = floors.reduce((total, floor) => total + floor, 0)
    return floors.length === under.length && sum > 0 ? [sample / sum] : []
  })
}

/** What was measured of one member, a measurement a round. */
export type Row = { name: string; floors: readonly (readonly string[])[]; measurements: readonly Measurement[] }
export type GroupResult = { name: string; about: string; rows: readonly Row[]; notes?: readonly string[] }

/** The quantities of a measurement that can be compared. */
export type Quantity = Exclude<keyof Measurement, 'counts'>

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
