import { neverOpened } from '../queue/queue-refusal.ts'
import { askValues } from '../queue/open-values.ts'
import { placeOf } from '../queue/prefixed-address.ts'

/** How long to wait for a connection and its answer together. */
const LONGEST_MS = 2000

/**
 * Asks a queue on a server whether it answers. Writes and creates nothing. Returns its address without user and password; throws
 * QueueUnavailable within two seconds where the server does not answer, or refuses the login.
 */
export async function askQueue(address: string): Promise<string> {
  const place = placeOf(new URL(address))
  try {
    const answered = await askValues(address, LONGEST_MS, ({ ping }) => ping().then(() => true))
    if (answered === undefined) throw new Error(`no answer within ${LONGEST_MS / 1000} s`)
    return place
  } catch (error) {
    throw neverOpened(error, place)
  }
}
