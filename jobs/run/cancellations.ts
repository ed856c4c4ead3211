import { z } from 'zod'
import { Cancelled } from '../../src/errors/errors.ts'
import { oneAtATime, within } from '../queue/deadline.ts'
import { listParsed, type SharedValues } from '../queue/port.ts'

/**
 * A person cancelled an organization: these jobs end with their runs, and no run is made up for a due time until then, in Unix milliseconds.
 * Jobs have names of their own, so a cancel never ends a later run.
 */
export type Cancellation = z.output<typeof cancellation>

const cancellation = z.object({
  jobs: z.array(z.string()).readonly(),
  askedAtMs: z.number(),
  untilMs: z.number(),
})

const PREFIX = 'cancel:'

/** All that are kept, by organization. `onUnreadable` gets the name of each that cannot be read. */
export async function listCancellations(
  values: Pick<SharedValues, 'list'>,
  onUnreadable?: (name: string) => void,
): Promise<Map<string, Cancellation>> {
  return listParsed(values, PREFIX, cancellation, onUnreadable)
}

export async function writeCancellation(
  values: Pick<SharedValues, 'write'>,
  organization: string,
  asked: Cancellation,
): Promise<void> {
  await values.write(PREFIX + organization, JSON.stringify(asked))
}

export async function deleteCancellation(values: Pick<SharedValues, 'delete'>, organization: string): Promise<void> {
  await values.delete(PREFIX + organization)
}

type Cancelling = {
  /** What persons cancelled, by organization. */
  list: () => Promise<ReadonlyMap<string, Cancellation>>
  lookMs: number
}

type Named = { id?: string | undefined; data: { organization: string } }

/** How long a run waits for a queue that does not answer. */
const FIRST_LOOK_MS = 500

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
    if (id === undefined) return work(cancelled.signal)
    this.#underWay.set(id, { organization, cancelled })
    this.#timer ??= setInterval(() => void this.#look(), this.#cancelling.lookMs)
    try {
      // The job may come from a worker that ended before it saw the cancel: then no request is sent.
      await within(this.#look(), FIRST_LOOK_MS, undefined)
      return await work(cancelled.signal)
    } finally {
      this.#underWay.delete(id)
      if (this.#underWay.size === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
    }
  }

  /** While the queue does not answer, runs continue, and the next look follows. */
  readonly #look = oneAtATime(async () => {
    const asked = await this.#cancelling.list().catch(() => undefined)
    for (const [id, { organization, cancelled }] of this.#underWay)
      if (asked?.get(organization)?.jobs.includes(id) === true) cancelled.abort(cancelledBy(organization))
  })
}

function cancelledBy(organization: string): Cancelled {
  return new Cancelled(
    `${organization}: cancelled with 'customer-mirror cancel'. What was read so far is saved, and the next run goes on from there.`,
  )
}
