/** How long a request that is under way may take once the reading was asked to stop. */
const GRACE_MS = 5000

export type EndingSignals = ReturnType<typeof endingSignals>

/** The two signals of a reading: `stop` ends waiting, `signal` ends requests too, a moment later. */
export function endingSignals(stop: AbortSignal, abort: AbortSignal) {
  const end = new AbortController()
  let grace: NodeJS.Timeout | undefined
  // With the reason of the signal that ends it: it says whether the next run may go on.
  const endNow = () => {
    end.abort(abort.aborted ? abort.reason : stop.reason)
  }
  const endSoon = () => {
    grace = setTimeout(endNow, GRACE_MS)
  }
  if (stop.aborted) endSoon()
  if (abort.aborted) endNow()
  stop.addEventListener('abort', endSoon, { once: true })
  abort.addEventListener('abort', endNow, { once: true })
  return {
    signal: end.signal,
    stop: AbortSignal.any([stop, end.signal]),
    endNow,
    dispose() {
      clearTimeout(grace)
      stop.removeEventListener('abort', endSoon)
      abort.removeEventListener('abort', endNow)
    },
  }
}
