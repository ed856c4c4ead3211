import { neverOpened } from '../queue/queue-refusal.ts'
import { askValues } from '../queue/open-values.ts'
import { placeOf } from '../queue/prefixed-address.ts'

/** How long to wait for a connection and its answer together. */
const LONGEST_MS = 2000

/** A queue that answered. */
export type AskedQueue = {
  /** Its address without user and password. */
  place: string
  /** The policy by which a Redis drops keys when it is full; undefined where it drops none. */
  dropsKeysBy: string | undefined
}

/**
 * Asks a queue on a server whether it answers, and whether a Redis can be used. Creates nothing. Throws QueueUnavailable within two seconds
 * where the server does not answer, or refuses.
 */
export async function askQueue(address: string): Promise<AskedQueue> {
  const place = placeOf(new URL(address))
  try {
    const answered = await askValues(address, LONGEST_MS, ({ ask }) => ask())
    if (answered === undefined) throw new Error(`no answer within ${LONGEST_MS / 1000} s`)
    return { place, dropsKeysBy: answered.dropsKeysBy }
  } catch (error) {
    throw neverOpened(error, place)
  }
}
