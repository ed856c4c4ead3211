import { within } from './deadline.ts'
import type { Timings } from '../timings.ts'

export type Pausing = {
  workers: readonly { pause(doNotWaitActive: boolean): Promise<void>; resume(): unknown }[]
  /** Writes to the queue, or rejects with what it said. */
  write: () => Promise<void>
  timings: Pick<Timings, 'firstPauseMs' | 'longestPauseMs' | 'settleMs'>
  /** From 0 to 1. */
  random: () => number
  /** The queue was asked while the workers were paused, and refused. */
  onRefused: (error: unknown) => void
  /** No worker has failed for a while. */
  onSettled: () => void
}

export type Pauses = {
  /** A worker failed to take or to end a job. */
  failed(): void
  /** Asks the queue now rather than when the wait is over. */
  askNow(): void
  stop(): void
}

/**
 * Keeps workers from asking a queue that refuses again and again: BullMQ asks at once after any error that is none of the
 * connection.
 *
 *     working ── failed ──▶ paused ── written ──▶ trying ── quiet for a while ──▶ working
 *                            ▲  │ refused: waits    │
 *                            │  ▼ twice as long     │
 *                            └──────── failed ──────┘
 *
 * Runs under way go on while the workers are paused.
 */
export function pauseWorkers({ workers, write, timings, random, onRefused, onSettled }: Pausing): Pauses {
  const { firstPauseMs, longestPauseMs, settleMs } = timings
  let state: 'working' | 'paused' | 'trying' | 'stopped' = 'working'
  let waitMs = firstPauseMs
  let timer: NodeJS.Timeout | undefined

  function failed(): void {
    if (state === 'paused' || state === 'stopped') return
    if (state === 'trying') waitMs = Math.min(longestPauseMs, waitMs * 2)
    state = 'paused'
    for (const worker of workers) worker.pause(true).catch(onRefused)
    wait()
  }

  function wait(): void {
    schedule(() => void ask(), jittered(waitMs, random()))
  }

  async function ask(): Promise<void> {
    const asked = write().then(
      () => 'written' as const,
      (error: unknown) => {
        if (state === 'paused') onRefused(error)
        return 'refused' as const
      },
    )
    const answer = await within(asked, longestPauseMs, 'late' as const)
    if (state !== 'paused') return
    if (answer === 'written') return resume()
    waitMs = Math.min(longestPauseMs, waitMs * 2)
    wait()
  }

  function resume(): void {
    state = 'trying'
    schedule(settle, settleMs)
    for (const worker of workers) if (isTrying()) worker.resume()
  }

  /** One that fails as it is resumed pauses them all. */
  function isTrying(): boolean {
    return state === 'trying'
  }

  function settle(): void {
    state = 'working'
    waitMs = firstPauseMs
    onSettled()
  }

  function schedule(work: () => void, ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(work, ms)
  }

  return {
    failed,
    askNow: () => {
      if (state === 'paused') schedule(() => void ask(), 0)
    },
    stop: () => {
      state = 'stopped'
      clearTimeout(timer)
    },
  }
}

/** A wait between half of `waitMs` and all of it, so that workers which failed together do not come back together. */
export function jittered(waitMs: number, random: number): number {
  return Math.round((waitMs * (1 + random)) / 2)
}
