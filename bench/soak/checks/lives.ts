/** How a life of a worker went. Times in Unix milliseconds. */
export type Lived = {
  name: string
  startedAtMs: number
  endedAtMs: number | undefined
  endsAs: 'killed' | 'stopped' | undefined
  wouldNotStop: boolean
  hasStarted: boolean
  exitCode: number | null
}

/**
 * Workers that ended by themselves, although they were running or nothing kept them from starting, and workers that did not stop as
 * asked.
 */
export function oddEnds(lives: readonly Lived[], troubles: readonly { fromMs: number; toMs: number }[]): string[] {
  return lives.flatMap((life) => {
    const { name, startedAtMs, endedAtMs, endsAs, wouldNotStop, hasStarted, exitCode } = life
    if (wouldNotStop) return [`${name} did not stop within a minute`]
    if (endedAtMs === undefined) return [`${name} still runs`]
    if (endsAs === 'stopped' && hasStarted && exitCode !== 143)
      return [`${name} was stopped in good order and ended with ${exitCode}, not 143`]
    if (endsAs !== undefined) return []
    const isExcused = !hasStarted && troubles.some(({ fromMs, toMs }) => fromMs <= endedAtMs && startedAtMs <= toMs)
    return isExcused ? [] : [`${name} ended by itself with ${exitCode}`]
  })
}
