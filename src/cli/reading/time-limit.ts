/** A limit of time that only runs now and then. */
export type TimeLimit = {
  /** Whether time counts from now on. */
  count(isCounted: boolean): void
  isReached(): boolean
}

/** Calls `onReached` once when the time that counted is `limitMs`; never if that is undefined. */
export function timeLimit(limitMs: number | undefined, monotonicMs: () => number, onReached: () => void): TimeLimit {
  let leftMs = limitMs ?? 0
  let sinceMs = 0
  let timer: NodeJS.Timeout | undefined
  let isReached = false
  return {
    isReached: () => isReached,
    count(isCounted) {
      if (limitMs === undefined || isReached || isCounted === (timer !== undefined)) return
      if (timer === undefined) {
        sinceMs = monotonicMs()
        timer = setTimeout(() => {
          isReached = true
          onReached()
        }, leftMs)
      } else {
        clearTimeout(timer)
        timer = undefined
        leftMs = Math.max(0, leftMs - (monotonicMs() - sinceMs))
      }
    },
  }
}
