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

/** A mirror as it stands in the queue. */
type Known = z.output<typeof known>

const known = z.object({ id: z.string(), place: z.string() })

/** Puts the mirror of a worker that starts into the queue. Throws QueueUnavailable where the queue has another one. */
export async function claimQueue(values: SharedValues, mirror: Pick<Mirror, 'file' | 'identity'>): Promise<void> {
  const own = await knownAs(mirror)
  const text = JSON.stringify(own)
  for (;;) {
    const found = await values.read(NAME)
    const stored = parseKnown(found)
    if (stored !== undefined && stored.id !== own.id && stored.place !== own.place) throw anotherMirror(stored, own)
    if (found === text || (await values.replace(NAME, found, text))) return
  }
}

/** Throws QueueUnavailable where the mirror at this address is there, and the queue has another one. */
export async function requireMirrorOfQueue(values: Pick<SharedValues, 'read'>, address: string): Promise<void> {
  const stored = parseKnown(await values.read(NAME))
  // One that cannot be read is reported by what needs it.
  const mirror = stored && (await openMirrorIfThere(address).catch(() => undefined))
  if (mirror === undefined) return
  try {
    const own = await knownAs(mirror)
    if (stored !== undefined && stored.id !== own.id) throw anotherMirror(stored, own)
  } finally {
    await mirror.close()
  }
}

/** Lets the next worker that starts bring its mirror. */
export async function releaseQueue(values: Pick<SharedValues, 'delete'>): Promise<void> {
  await values.delete(NAME)
}

async function knownAs({ file, identity }: Pick<Mirror, 'file' | 'identity'>): Promise<Known> {
  const shown = shownMirror(file)
  return { id: await identity(), place: isPostgres(file) ? shown : `${hostname()}:${shown}` }
}

function parseKnown(text: string | undefined): Known | undefined {
  return text === undefined ? undefined : parseValue(known, text)
}

function anotherMirror(stored: Known, own: Known): QueueUnavailable {
  return new QueueUnavailable(
    `This queue has the mirror ${stored.place}, and the mirror here is ${own.place}: each would get some of the nights. Name that mirror, ` +
      "or give this one a queue of its own with ?prefix= at the end of its address. If that mirror is gone for good, run 'customer-mirror " +
      "queue --release' once, then start again.",
  )
}
