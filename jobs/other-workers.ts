import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Logger } from '../src/log.ts'
import { nameOfProcess, processWords } from '../src/machine/process-name.ts'
import { isoTime } from '../src/time/iso-time.ts'
import { repeatedly } from './queue/deadline.ts'
import { listParsed, type SharedValues } from './queue/port.ts'

/** Whether the workers of a queue have the same configuration: each writes the hash of its own into the queue, and reads the others'. */
export type OtherWorkers = {
  /** The workers with another configuration, in a sentence; undefined where there are none, or where a new file may be on its way. */
  problem(): string | undefined
  /** How many workers the queue has, with this one, as far as is known. */
  workers: () => number
  stop(): void
}

type Comparing = {
  values: Pick<SharedValues, 'list' | 'write' | 'delete'>
  hash: () => string
  /** How often to write and to read. */
  lookMs: number
  log: Pick<Logger, 'warn'>
  /** Unix milliseconds. */
  now: () => number
  /** The name of this worker. */
  self?: string
}

const PREFIX = 'configuration:'
const stored = z.object({ hash: z.string(), at: z.iso.datetime() })

/** A worker that has not written for so many looks is gone. */
const GONE_LOOKS = 3
/** A new file may reach the workers one after another, or with a restart of each: a difference is a problem after so many looks. */
const PATIENT_LOOKS = 10

export function compareConfigurations(comparing: Comparing): OtherWorkers {
  const { values, hash, lookMs, log, now, self = `${nameOfProcess()}#${randomUUID()}` } = comparing
  let others = new Map<string, string>()
  let differingLooks = 0
  let workers = 1

  async function look(): Promise<void> {
    const nowMs = now()
    await values.write(PREFIX + self, JSON.stringify({ hash: hash(), at: isoTime(nowMs) }))
    const found = await listParsed(values, PREFIX, stored)
    const gone = [...found].filter(([, { at }]) => Date.parse(at) < nowMs - GONE_LOOKS * lookMs).map(([name]) => name)
    await Promise.all(gone.map((name) => values.delete(PREFIX + name)))
    workers = Math.max(1, found.size - gone.length)
    const differing = [...found].filter(([name, each]) => each.hash !== hash() && !gone.includes(name))
    others = new Map(differing.map(([name, each]) => [name, each.hash]))
    differingLooks = others.size === 0 ? 0 : differingLooks + 1
    if (differingLooks === 1) log.warn({ configurations: [sentence()] }, 'workers have different configurations')
  }

  function sentence(): string {
    const named = [...others].map(([name, each]) => `${processWords(name)} has ${shortly(each)}`)
    return `this worker has the configuration ${shortly(hash())}, but ${named.join(', ')}: give all workers the same file`
  }

  // While the queue is away, other parts report that, and the next look follows.
  const looking = repeatedly(lookMs, look)
  return {
    problem: () => (differingLooks > PATIENT_LOOKS ? sentence() : undefined),
    workers: () => workers,
    stop: looking.stop,
  }
}

/** Enough of a hash to tell configurations apart. */
function shortly(hash: string): string {
  return hash.slice(0, 12)
}
