/** One organization: when it was due, and when its complete runs began. Unix milliseconds. */
export type Kept = { organization: string; dueMs: readonly number[]; startsMs: readonly number[] }

/** Since when and until when a worker, the queue and the service were there, and not only by the clock. */
export type WellFor = (fromMs: number, toMs: number) => number

/**
 * Due times after which no complete run began, although a worker, the queue and the service were there for longer than `allowedMs` in
 * total. One run is enough for several due times.
 */
export function missedDueTimes(
  { organization, dueMs, startsMs }: Kept,
  { wellFor, allowedMs, endMs }: { wellFor: WellFor; allowedMs: number; endMs: number },
): string[] {
  const starts = startsMs.toSorted((a, b) => a - b)
  return dueMs.flatMap((due) => {
    const next = starts.find((start) => start >= due)
    const wellMs = wellFor(due, next ?? endMs)
    if (wellMs <= allowedMs) return []
    const then =
      next === undefined ? 'no run followed' : `the next run began ${Math.round((next - due) / 1000)} s later`
    return [`${organization}: was due at ${new Date(due).toISOString()}, and ${then}`]
  })
}

/** Due times for which the schedule read a list to its end more than once. `asOfMs`: when the reading of each complete run began. */
export function repeatedDueTimes({
  organization,
  dueMs,
  asOfMs,
}: Pick<Kept, 'organization' | 'dueMs'> & { asOfMs: readonly number[] }): string[] {
  const counted = Map.groupBy(asOfMs, (atMs) => dueMs.findLast((due) => due <= atMs))
  return [...counted].flatMap(([due, each]) =>
    due === undefined || each.length === 1
      ? []
      : [`${organization}: was due at ${new Date(due).toISOString()}, and was read ${each.length} times for that`],
  )
}
