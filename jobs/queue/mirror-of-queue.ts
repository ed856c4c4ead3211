import { hostname } from 'node:os'
import { z } from 'zod'
import { isPostgres, shownMirror } from '../../src/address/mirror-address.ts'
import { QueueUnavailable } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { parseValue, type SharedValues } from './port.ts'
import { openMirrorIfThere } from '../../src/store/mirror.ts'

/**
 * A queue belongs to one mirror: two of them on one queue would each get some of the nights. A worker that starts writes its mirror into the
 * queue, and is refused where the queue has another one. A mirror that was moved or restored keeps its identity, and one that was made anew
 * at the same place takes the queue over.
 */
const NAME = 'mirror'
const known = z.object({ id: z.string(), place: z.string() })

/** Puts the mirror of a worker that starts into the queue. Throws QueueUnavailable where the queue has another one. */
export async function claimQueue(values: SharedValues, mirror: Pick<Mirror, 'file' | 'identity'>): Promise<void> {
  for (;;) {
    const found = await values.read(NAME)
    const text = JSON.stringify(await knownAs(mirror, found, (stored, own) => stored.place !== own.place))
    if (found === text || (await values.replace(NAME, found, text))) return
  }
}

/** Throws QueueUnavailable where the mirror at this address is there, and the queue has another one. */
export async function requireMirrorOfQueue(values: Pick<SharedValues, 'read'>, address: string): Promise<void> {
  const found = await values.read(NAME)
  // One that cannot be read is reported by what needs it.
  const mirror = found === undefined ? undefined : await openMirrorIfThere(address).catch(() => undefined)
  if (mirror === undefined) return
  try {
    await knownAs(mirror, found)
  } finally {
    await mirror.close()
  }
}

/** Lets the next worker that starts bring its mirror. */
export async function releaseQueue(values: Pick<SharedValues, 'delete'>): Promise<void> {
  await values.delete(NAME)
}

type Known = z.output<typeof known>

/** How a mirror stands in the queue. Throws where another one is found there that `isRefused`. */
async function knownAs(
  { file, identity }: Pick<Mirror, 'file' | 'identity'>,
  found: string | undefined,
  isRefused: (stored: Known, own: Known) => boolean = () => true,
): Promise<Known> {
  const shown = shownMirror(file)
  const own = { id: await identity(), place: isPostgres(file) ? shown : `${hostname()}:${shown}` }
  const stored = found === undefined ? undefined : parseValue(known, found)
  if (stored === undefined || stored.id === own.id || !isRefused(stored, own)) return own
  throw new QueueUnavailable(
    `This queue has the mirror ${stored.place}, and the mirror here is ${own.place}: each would get some of the nights. Name that mirror, ` +
      "or give this one a queue of its own with ?prefix= at the end of its address. If that mirror is gone for good, run 'customer-mirror " +
      "queue --release' once, then start again.",
  )
}
