import { backoffMs } from '../../src/time/backoff.ts'
import { within } from './deadline.ts'
import type { Timings } from '../timings.ts'

export type Pausing = {
  workers: readonly { pause(doNotWaitActive: boolean): Promise<void>; resume(): unknown }[]
  /** Writes to the queue, or rejects with its error. */
  write: () => Promise<void>
  timings: Pick<Timings, 'firstPauseMs' | 'longestPauseMs' | 'settleMs'>
  /** From 0 to 1. */
  random: () => number
  /** The queue refused a write while the workers were paused. */
  onRefused: (error: unknown) => void
  /** No worker has failed for a while. */
  onSettled: () => void
}

/**
 * Pauses workers while the queue refuses writes: after an error that does not concern the connection, BullMQ retries at once,
 * again and again. Current runs continue while the workers are paused.
 *
 *     working ── failed ──▶ paused ── written ──▶ trying ── quiet for a while ──▶ working
 *                            ▲  │ refused: waits    │
 *                            │  ▼ twice as long     │
 *                            └──────── failed ──────┘
 *
 *     any of them ── stop ──▶ stopped
 *
 * A timer runs in `paused`, until the queue is asked, and in `trying`, until it counts as settled.
 */
export class WorkerPauses {
  readonly #pausing: Pausing
  #state: 'working' | 'paused' | 'trying' | 'stopped' = 'working'
  /** Pauses since the queue last worked, and the times it refused a write in them. */
  #tries = 1
  #timer: NodeJS.Timeout | undefined

  constructor(pausing: Pausing) {
    this.#pausing = pausing
  }

  /** A worker failed to take or to end a job. */
  failed(): void {
    if (this.#state === 'paused' || this.#state === 'stopped') return
    if (this.#state === 'trying') this.#tries += 1
    this.#state = 'paused'
    for (const worker of this.#pausing.workers) worker.pause(true).catch(this.#pausing.onRefused)
    this.#wait()
  }

  /** Asks the queue now, before the wait is over. */
  askNow(): void {
    if (this.#state === 'paused') this.#schedule(() => void this.#ask(), 0)
  }

  stop(): void {
    this.#state = 'stopped'
    clearTimeout(this.#timer)
  }

  #wait(): void {
    const { timings, random } = this.#pausing
    const bounds = { firstMs: timings.firstPauseMs, longestMs: timings.longestPauseMs, least: LEAST_SHARE }
    this.#schedule(() => void this.#ask(), backoffMs(this.#tries, random(), bounds))
  }

  async #ask(): Promise<void> {
    const { write, onRefused, timings } = this.#pausing
    const asked = write().then(
      () => 'written' as const,
      (error: unknown) => {
        if (this.#state === 'paused') onRefused(error)
        return 'refused' as const
      },
    )
    const answer = await within(asked, timings.longestPauseMs, 'late' as const)
    if (this.#state !== 'paused') return
    if (answer === 'written') return this.#resume()
    this.#tries += 1
    this.#wait()
  }

  #resume(): void {
    this.#state = 'trying'
    this.#schedule(() => this.#settle(), this.#pausing.timings.settleMs)
    for (const worker of this.#pausing.workers) if (this.#isTrying()) worker.resume()
  }

  /** Whether the workers were just resumed: a failure then pauses them again. */
  #isTrying(): boolean {
    return this.#state === 'trying'
  }

  #settle(): void {
    this.#state = 'working'
    this.#tries = 1
    this.#pausing.onSettled()
  }

  #schedule(work: () => void, ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(work, ms)
  }
}

/** Workers that failed together do not come back together, and none asks a queue that refuses it again at once. */
const LEAST_SHARE = 0.5
