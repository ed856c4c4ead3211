import { z } from 'zod'
import { Cancelled } from '../../src/errors/errors.ts'
import { repeatedly, within } from '../queue/deadline.ts'
import { listParsed, parseValue, type SharedValues } from '../queue/port.ts'

/** A person cancelled these jobs of an organization, and no run is made up for a due time until then, in Unix milliseconds. */
export type Cancellation = z.output<typeof cancellation>

const cancellation = z.object({
  jobs: z.array(z.string()).readonly(),
  askedAtMs: z.number(),
  untilMs: z.number(),
})

const PREFIX = 'cancel:'

/** All that are kept, by organization. */
export async function listCancellations(values: Pick<SharedValues, 'list'>): Promise<Map<string, Cancellation>> {
  return listParsed(values, PREFIX, cancellation)
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

/** How long a run waits for a queue that does not answer. */
const FIRST_LOOK_MS = 500

/** Does the work of a job. The signal is aborted with Cancelled when a person cancels that job. */
export async function cancellable<Result>(
  { id = '', data: { organization } }: { id?: string | undefined; data: { organization: string } },
  { values, lookMs }: { values: Pick<SharedValues, 'read'>; lookMs: number },
  work: (cancelled: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const cancelled = new AbortController()
  const looking = repeatedly(lookMs, async () => {
    const text = await values.read(PREFIX + organization)
    const asked = text === undefined ? undefined : parseValue(cancellation, text)
    if (asked?.jobs.includes(id) === true) cancelled.abort(cancelledBy(organization))
  })
  try {
    // The job may come from a worker that ended before it saw the cancel: then no request is sent.
    await within(looking.now(), FIRST_LOOK_MS, undefined)
    return await work(cancelled.signal)
  } finally {
    looking.stop()
  }
}

function cancelledBy(organization: string): Cancelled {
  return new Cancelled(
    `${organization}: cancelled with 'customer-mirror cancel'. What was read so far is saved, and the next run goes on from there.`,
  )
}
