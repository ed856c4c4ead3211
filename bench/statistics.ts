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
export function ratios(samples: readonly number[], ...under: readonly (readonly number[])[]): number[] {
  return samples.flatMap((sample, round) => {
    const floors = under.flatMap((floor) => floor[round] ?? [])
    const sum = floors.reduce((total, floor) => total + floor, 0)
    return floors.length === under.length && sum > 0 ? [sample / sum] : []
  })
}
