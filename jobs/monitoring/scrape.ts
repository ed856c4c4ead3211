import { succeedsWithin } from '../queue/deadline.ts'
import type { Metrics } from './metrics.ts'

export type Scraped = {
  metrics: Pick<Metrics, 'text'> | undefined
  /** The figures of the process, in the text format of Prometheus. */
  processText: () => Promise<string>
  examine: () => Promise<{ ready: boolean }>
  /** Writes to the queue, or rejects with its error. */
  write: () => Promise<void>
}

/** How long a scrape waits for a queue that may be gone. */
const ASK_MS = 2000

/** Answers a scrape: what the worker does, and how it is, which the same look-ups say as `/readyz`. */
export function createScrape({ metrics, processText, examine, write }: Scraped): () => Promise<string> {
  return async () => {
    const [ready, queueUp] = await Promise.all([
      examine().then(
        (found) => found.ready,
        () => false,
      ),
      succeedsWithin(write(), ASK_MS),
    ])
    return ((await metrics?.text({ ready, queueUp })) ?? '') + (await processText())
  }
}
