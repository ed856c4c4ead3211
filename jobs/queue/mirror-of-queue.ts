import { hostname } from 'node:os'
import { z } from 'zod'
import { isPostgres, shownMirror } from '../../src/address/mirror-address.ts'
import { QueueUnavailable } from '../../src/errors/errors.ts'
import { bootName } from '../../src/machine/process-name.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { parseValue, type SharedValues } from './port.ts'
import { openMirrorIfThere } from '../../src/store/mirror.ts'

/**
 * A queue belongs to one mirror: two of them on one queue would each get some of the nights. The first worker writes its mirror into the
 * queue, and so does the next where the queue has lost it. A mirror that was moved or restored keeps its identity, and one that was made anew
 * at the same place of the same machine takes the queue over.
 */
const NAME = 'mirror'

/** A mirror as it stands in the queue. `machine` tells a copy of a file on another machine from the file itself; empty for a server. */
type Known = { id: string; machine: string; place: string }

const known = z.object({ id: z.string(), machine: z.string(), place: z.string() })

/** Puts the mirror of a worker that starts into the queue. Throws QueueUnavailable where the queue has another one. */
export async function claimQueue(values: SharedValues, mirror: Pick<Mirror, 'file' | 'identity'>): Promise<void> {
  const own = await knownAs(mirror)
  const other = await claim(values, own, (stored) => stored.id === own.id || isSamePlace(stored, own))
  if (other !== undefined) throw anotherMirror(other, own)
}

/** What is wrong where the queue has another mirror by now than a worker that runs, in a sentence; undefined where it has that of the worker. */
export async function anotherMirrorNow(
  values: SharedValues,
  mirror: Pick<Mirror, 'file' | 'identity'>,
): Promise<string | undefined> {
  const own = await knownAs(mirror)
  const stored = parseKnown(await values.read(NAME))
  // Workers that reach one mirror by different paths need not write it in turn.
  if (stored !== undefined && isSameMirror(stored, own)) return undefined
  const other = await claim(values, own, (found) => isSameMirror(found, own) || isSamePlace(found, own))
  return other && `the queue has another mirror now, ${other.place}: this worker, with ${own.place}, takes no jobs`
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

/** Lets the next worker that asks bring its mirror. */
export async function releaseQueue(values: Pick<SharedValues, 'delete'>): Promise<void> {
  await values.delete(NAME)
}

/** Writes the own mirror unless it is there; returns another one that may not be replaced. */
async function claim(values: SharedValues, own: Known, mayReplace: (stored: Known) => boolean) {
  const text = JSON.stringify(own)
  for (;;) {
    const found = await values.read(NAME)
    if (found === text) return undefined
    const stored = parseKnown(found)
    if (stored !== undefined && !mayReplace(stored)) return stored
    if (await values.replace(NAME, found, text)) return undefined
  }
}

async function knownAs({ file, identity }: Pick<Mirror, 'file' | 'identity'>): Promise<Known> {
  const shown = shownMirror(file)
  const id = await identity()
  if (isPostgres(file)) return { id, machine: '', place: shown }
  return { id, machine: bootName() ?? hostname(), place: `${hostname()}:${shown}` }
}

function isSameMirror(stored: Known, own: Known): boolean {
  return stored.id === own.id && stored.machine === own.machine
}

function isSamePlace(stored: Known, own: Known): boolean {
  return stored.place === own.place && stored.machine === own.machine
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
