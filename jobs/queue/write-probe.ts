/** How long an answer of the queue is reused. */
const STANDS_MS = 5000

/**
 * Checks whether the queue accepts writes by writing to it: one write at a time, and at most one in five seconds, for all callers
 * together. Rejects like that write.
 */
export function createWriteProbe(write: () => Promise<void>, monotonicMs: () => number): () => Promise<void> {
  let last: { answer: Promise<void>; endedMs: number | undefined } | undefined
  return () => {
    const stands = last !== undefined && (last.endedMs === undefined || monotonicMs() - last.endedMs < STANDS_MS)
    if (last !== undefined && stands) return last.answer
    const asked: NonNullable<typeof last> = { answer: write(), endedMs: undefined }
    last = asked
    const end = () => {
      asked.endedMs = monotonicMs()
    }
    asked.answer.then(end, end)
    return asked.answer
  }
}
