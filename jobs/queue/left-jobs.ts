import type { Timings } from '../timings.ts'
import { isOfGoneProcess, nameLocks } from './lock-names.ts'

/**
 * Frees the active jobs of a queue whose lock is of a process that is gone, or was not renewed for long although it does not run out, so that
 * the next look for stalled jobs takes them over. Returns how many there were. A job whose lock has run out is judged by the name of the
 * worker that took it.
 */
export type FreeJobs = (queue: string, judging: Judging) => Promise<number>

type Judging = {
  /** Whether a lock is of a process that is gone. */
  isGone: (lock: string) => boolean
  /** Whether something had the same value in so many looks in a row that it is no longer renewed. */
  isSilent: (name: string, value: string) => boolean
}

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
 * until its lock has run out and two looks for stalled jobs have found it so; and where a clock that was ahead dated the lock, until that
 * moment. To be called before the worker takes jobs: it names this process in its locks. While the queue does not answer, nothing is looked
 * for.
 */
export function takeOverLeftJobs(
  worker: Worker,
  { freeJobs }: { freeJobs: FreeJobs },
  { leftJobsMs: everyMs, lockMs }: Pick<Timings, 'leftJobsMs' | 'lockMs'>,
): void {
  nameLocks(worker)
  const looks = new Looks(1 + Math.ceil((2 * lockMs) / everyMs))
  let [hasLooked, isClosing] = [false, false]
  let timer: NodeJS.Timeout | undefined

  async function look(): Promise<void> {
    if (!worker.isRunning() || worker.isPaused()) return
    try {
      if ((await freeJobs(worker.name, { isGone: isOfGoneProcess, isSilent: looks.begin() })) > 0)
        await worker.startStalledCheckTimer()
      looks.end()
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

/**
 * Counts looks instead of asking a clock: those of other machines, or of another day, may differ from that of this process. One that fails
 * does not count: the next may follow at once.
 */
class Looks {
  readonly #most: number
  #counted = new Map<string, number>()
  #underway = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Begins a look, which asks about each thing once. */
  begin(): Judging['isSilent'] {
    this.#underway = new Map()
    return (name, value) => {
      const key = `${name} ${value}`
      const looks = (this.#counted.get(key) ?? 0) + 1
      this.#underway.set(key, looks)
      return looks >= this.#most
    }
  }

  end(): void {
    this.#counted = this.#underway
  }
}
