/** How long a request that is under way may take once the reading was asked to stop. */
const GRACE_MS = 5000

export type EndingSignals = ReturnType<typeof endingSignals>

/**
 * The two signals of a reading: `stop` ends waiting, `signal` ends requests too, a moment later. Both are plain ones: they are looked at
 * many times for each page, and a combined signal looks at all of its parts each time.
 */
export function endingSignals(stop: AbortSignal, abort: AbortSignal) {
  const [waiting, requests] = [new AbortController(), new AbortController()]
  let grace: NodeJS.Timeout | undefined
  // With the reason of the signal that ends it: it says whether the next run may go on.
  const endNow = () => {
    const reason: unknown = abort.aborted ? abort.reason : stop.reason
    waiting.abort(reason)
    requests.abort(reason)
  }
  const endSoon = () => {
    waiting.abort(stop.reason)
    grace = setTimeout(endNow, GRACE_MS)
  }
  if (stop.aborted) endSoon()
  if (abort.aborted) endNow()
  stop.addEventListener('abort', endSoon, { once: true })
  abort.addEventListener('abort', endNow, { once: true })
  return {
    signal: requests.signal,
    stop: waiting.signal,
    endNow,
    dispose() {
      clearTimeout(grace)
      stop.removeEventListener('abort', endSoon)
      abort.removeEventListener('abort', endNow)
    },
  }
}
