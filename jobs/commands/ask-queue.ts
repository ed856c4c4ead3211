import { neverOpened } from '../queue/queue-refusal.ts'
import { openValues } from '../queue/open-values.ts'
import { placeOf } from '../queue/prefixed-address.ts'
import { within } from '../queue/deadline.ts'

/** How long to wait for a connection and its answer together. */
const LONGEST_MS = 2000

/**
 * Asks a queue on a server whether it answers. Nothing is written, and nothing is made. Returns its address without user and password; throws
 * QueueUnavailable within two seconds where it does not answer, or does not let us in.
 */
export async function askQueue(address: string): Promise<string> {
  const place = placeOf(new URL(address))
  const opened = openValues(address, LONGEST_MS)
  try {
    const answered = opened.then(({ ping }) => ping()).then(() => true)
    if (!(await within(answered, LONGEST_MS, false))) throw new Error(`no answer within ${LONGEST_MS / 1000} s`)
    return place
  } catch (error) {
    throw neverOpened(error, place)
  } finally {
    void opened.then((readable) => readable.close()).catch(() => {})
  }
}
