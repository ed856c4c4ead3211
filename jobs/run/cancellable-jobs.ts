import { Cancelled } from '../../src/errors/errors.ts'
import { within } from '../queue/deadline.ts'
import type { Cancellation } from '../queue/cancellations.ts'
import { oneAtATime } from '../one-at-a-time.ts'

export type Cancelling = {
  /** What persons cancelled, by organization. Undefined where no other process reaches the queue, so that none can. */
  list: (() => Promise<ReadonlyMap<string, Cancellation>>) | undefined
  lookMs: number
}

type Named = { id?: string | undefined; data: { organization: string } }

/** The jobs of this process, which end when a person cancels them. It looks for that only while there are any. */
export class CancellableJobs {
  readonly #underWay = new Map<string, { organization: string; cancelled: AbortController }>()
  readonly #cancelling: Cancelling
  #timer: NodeJS.Timeout | undefined

  constructor(cancelling: Cancelling) {
    this.#cancelling = cancelling
  }

  /** Does the work of a job. The signal is aborted with Cancelled when a person cancels that job. */
  async during<Result>(
    { id, data: { organization } }: Named,
    work: (cancelled: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const cancelled = new AbortController()
    const { list, lookMs } = this.#cancelling
    if (id === undefined || list === undefined) return work(cancelled.signal)
    this.#underWay.set(id, { organization, cancelled })
    this.#timer ??= setInterval(() => void this.#look(), lookMs)
    try {
      // The job may come from a worker that ended before it saw the cancel: then no request is sent.
      await within(this.#look(), FIRST_LOOK_MS, undefined)
      return await work(cancelled.signal)
    } finally {
      this.#underWay.delete(id)
      if (this.#underWay.size === 0) this.#rest()
    }
  }

  /** While the queue does not answer, runs continue, and the next look follows. */
  readonly #look = oneAtATime(() => this.#cancel())

  async #cancel(): Promise<void> {
    try {
      const asked = await this.#cancelling.list?.()
      for (const [id, { organization, cancelled }] of this.#underWay)
        if (asked?.get(organization)?.jobs.includes(id) === true) cancelled.abort(cancelledBy(organization))
    } catch {
      // Other parts report that the queue is lost.
    }
  }

  #rest(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** How long a run waits for a queue that does not answer. */
const FIRST_LOOK_MS = 500

function cancelledBy(organization: string): Cancelled {
  return new Cancelled(
    `${organization}: cancelled with 'customer-mirror cancel'. What was read so far is saved, and the next run goes on from there.`,
  )
}
