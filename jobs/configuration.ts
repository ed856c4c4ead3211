import { hash as digest, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { type Config, readConfig } from '../src/config/read-config.ts'
import { ConfigError, describeError } from '../src/errors/errors.ts'
import type { Logger } from '../src/machine/log.ts'
import { nameOfProcess, processWords } from '../src/machine/process-name.ts'
import { repeatedly } from '../src/machine/timers.ts'
import { type SharedValues, valuesNamed } from './queue/port.ts'

/** The last configuration that was read without a mistake, read again when its file changes. */
export type LiveConfig = {
  current: Config
  hash: string
  /** Since when the file cannot be used, in Unix milliseconds; undefined while it can. */
  brokenSinceMs: number | undefined
  /** Looks from now on whether the file has changed, until that is stopped. `onRead`: another content was read. */
  follow(lookMs: number, onRead: () => void): { stop: () => void }
}

/** Opens the file. Later mistakes in it are logged, and the configuration before stays; another mirror or queue, unless `embedded`, is one. */
export async function openLiveConfig(opening: {
  file?: string | undefined
  cwd: string
  embedded?: boolean
  log: Pick<Logger, 'info' | 'warn'>
  now: () => number
}): Promise<LiveConfig> {
  const { embedded = false, log, now, ...source } = opening
  const openSettings = embedded ? (['mirror'] as const) : (['mirror', 'queue'] as const)
  const seenAtMs = new Map<string, number>()
  // A change between the first reading and this is seen at the next look.
  let [textRead, textSeen] = ['', '']

  /** Reads and checks the file. An organization that leaves the configuration and comes back is as old as before. */
  async function readChecked(file = source.file): Promise<Config> {
    const config = await readConfig({ ...source, file })
    for (const { id } of config.organizations) if (!seenAtMs.has(id)) seenAtMs.set(id, now())
    const organizations = config.organizations.map((each) => ({ ...each, seenAtMs: seenAtMs.get(each.id) }))
    return { ...config, organizations }
  }

  const look = async (onRead: () => void) => {
    const { hash, brokenSinceMs, current } = live
    const before = textSeen
    // Not every file system reports changes.
    textSeen = await readFile(current.file, 'utf8').catch(() => 'none')
    // A program may write the file in several steps: what has changed since the look before is read at the next one.
    if (textSeen === textRead || textSeen !== before) return
    textRead = textSeen
    try {
      const written = await readChecked(current.file)
      const others = openSettings.filter((setting) => written[setting] !== current[setting])
      const other = `it names another ${others.join(' and another ')}: restart the worker to use it, or put the file back`
      if (others.length > 0) throw new ConfigError([{ file: current.file, message: other }])
      live.current = written
      live.hash = configurationHash(written.content)
      live.brokenSinceMs = undefined
    } catch (error) {
      live.brokenSinceMs ??= now()
      return log.warn({ error: describeError(error) }, 'configuration cannot be used, the one before stays')
    }
    const isNew = live.hash !== hash
    if (!isNew && brokenSinceMs === undefined) return
    log.info({ organizations: live.current.organizations.length, changed: isNew }, 'configuration read again')
    onRead()
  }

  const first = await readChecked()
  const live: LiveConfig = {
    current: first,
    hash: configurationHash(first.content),
    brokenSinceMs: undefined,
    follow: (lookMs, onRead) => repeatedly(lookMs, () => look(onRead)),
  }
  return live
}

/** A hash of what a file says, in hex, without texts that may be secrets and without the address of the queue. */
export function configurationHash(content: unknown): string {
  const isLeftOut = (key: string, value: unknown) => LEFT_OUT.includes(key) && typeof value === 'string'
  const text = JSON.stringify(content, (key, value: unknown) => (isLeftOut(key, value) ? undefined : value))
  return digest('sha256', text)
}

const LEFT_OUT = ['apiKey', 'secret', 'queue']

const configurations = valuesNamed('configuration:', z.object({ hash: z.string(), atMs: z.number() }))

/** A worker that has not written for so many looks is gone. */
const GONE_LOOKS = 3
/** A new file may reach the workers one after another, or with a restart of each: a difference is a problem after so many looks. */
const PATIENT_LOOKS = 10

/** Whether the workers of a queue have the same configuration: each writes the hash of its own into the queue, and reads the others'. */
export function compareConfigurations(comparing: {
  values: Pick<SharedValues, 'list' | 'write' | 'delete'>
  hash: () => string
  lookMs: number
  log: Pick<Logger, 'warn'>
  now: () => number
  self?: string
}) {
  const { values, hash, lookMs, log, now, self = `${nameOfProcess()}#${randomUUID()}` } = comparing
  let [sentence, differingLooks, workers] = ['', 0, 1]

  // While the queue is away, other parts report that, and the next look follows.
  const { stop } = repeatedly(lookMs, async () => {
    const nowMs = now()
    await configurations.write(values, self, { hash: hash(), atMs: nowMs })
    const found = [...(await configurations.list(values))]
    const alive = found.filter(([, { atMs }]) => atMs >= nowMs - GONE_LOOKS * lookMs)
    for (const [name] of found.filter((each) => !alive.includes(each))) await configurations.delete(values, name)
    workers = alive.length
    const others = alive.filter(([, each]) => each.hash !== hash())
    const named = others.map(([name, each]) => `${processWords(name)} has ${each.hash.slice(0, 12)}`)
    sentence = `this worker has the configuration ${hash().slice(0, 12)}, but ${named.join(', ')}: give all workers the same file`
    differingLooks = others.length === 0 ? 0 : differingLooks + 1
    if (differingLooks === 1) log.warn({ configurations: [sentence] }, 'workers have different configurations')
  })
  return {
    /** The workers with another configuration, in a sentence; undefined where there are none, or where a new file may be on its way. */
    problem: () => (differingLooks > PATIENT_LOOKS ? sentence : undefined),
    /** How many workers the queue has, with this one, as far as is known. */
    workers: () => workers,
    stop,
  }
}
