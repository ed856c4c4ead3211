/** How long an answer of the queue stands for those who ask again. */
const STANDS_MS = 5000

/**
 * Asks whether the queue can be written by writing to it: one write at a time, and one in five seconds at most, however many
 * ask. Rejects as that write does.
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
