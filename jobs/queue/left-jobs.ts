import { isOfGoneProcess, nameLocks } from './lock-names.ts'

/**
 * Frees the active jobs of a queue whose lock is of a process that is gone, so that the next look for stalled jobs takes them over.
 * Returns how many there were. A job whose lock has run out is judged by the name of the worker that took it.
 */
export type FreeJobs = (queue: string, isGone: (lock: string) => boolean) => Promise<number>

type Worker = {
  readonly id: string
  name: string
  isRunning(): boolean
  isPaused(): boolean
  startStalledCheckTimer(): Promise<void>
  on(event: 'closing', listener: () => void): unknown
}

/**
 * Has a worker take over the jobs of its queue whose process is gone from this machine, until it closes. Otherwise such a job would wait
 * until its lock has run out and two looks for stalled jobs have found it so. To be called before the worker takes jobs: it names
 * this process in its locks. While the queue does not answer, nothing is looked for.
 */
export function takeOverLeftJobs(worker: Worker, { freeJobs }: { freeJobs: FreeJobs }, everyMs: number): void {
  nameLocks(worker)
  let [hasLooked, isClosing] = [false, false]
  let timer: NodeJS.Timeout | undefined

  async function look(): Promise<void> {
    if (!worker.isRunning() || worker.isPaused()) return
    try {
      if ((await freeJobs(worker.name, isOfGoneProcess)) > 0) await worker.startStalledCheckTimer()
      hasLooked = true
    } catch {
      // The queue is lost or refuses; other parts report that.
    }
  }

  function lookAgain(): void {
    if (isClosing) return
    timer = setTimeout(() => void look().then(lookAgain), hasLooked ? everyMs : Math.min(everyMs, SOON_MS)).unref()
  }

  lookAgain()
  worker.on('closing', () => {
    isClosing = true
    clearTimeout(timer)
  })
}

/** How soon to look after the worker has begun to take jobs: what is left then was left before it was started. */
const SOON_MS = 250
