import { stat } from 'node:fs/promises'
import type { Organization } from '../../src/config/organization.ts'
import { readConfig, type Config } from '../../src/config/read-config.ts'
import { configurationHash } from './configuration-hash.ts'
import { checkSchedules } from '../schedule/reconcile.ts'
import { oneAtATime } from '../one-at-a-time.ts'

/** A setting of what stays open in a worker. */
export type OpenSetting = 'mirror' | 'queue'

/** The last configuration that was read without a mistake. */
export type LiveConfig = {
  readonly current: Config
  /** The hash of its content, a new object for each content. */
  readonly reading: Reading
  /** When the file was last modified, at the last reading. */
  readonly modifiedMs: number
  /** Since when the file cannot be used, in Unix milliseconds; undefined while it can. */
  readonly brokenSinceMs: number | undefined
  /** What the file has changed and a restart alone changes here, since the mirror and the queue are open. */
  readonly awaitingRestart: readonly OpenSetting[]
  organizationOf: (id: string) => Organization | undefined
  /** Reads the file again. If it has mistakes, throws ConfigError and keeps the last configuration. */
  reload(): Promise<void>
  /** A text that changes with the file, as far as its dates and size show. */
  fileState(): Promise<string>
  /** Whether the file was in this state when it was read last. */
  hasRead(state: string): boolean
}

/** A content of the file that was read without a mistake. Times in Unix milliseconds. */
export type Reading = { hash: string; readAtMs: number; modifiedMs: number }

/** What was read last without a mistake; replaced as a whole. */
type Sound = Pick<LiveConfig, 'reading' | 'awaitingRestart'> & { config: Config }

/** Opens the file. `embedded`: the queue is that of the command line, whatever the file says of it. */
export async function openLiveConfig(
  { embedded = false, ...source }: { file?: string | undefined; cwd: string; embedded?: boolean },
  now: () => number,
): Promise<LiveConfig> {
  const openSettings: readonly OpenSetting[] = embedded ? ['mirror'] : ['mirror', 'queue']
  const noteSeen = rememberSeen(now)
  const config = noteSeen(await readChecked(source, now))
  // A change between the two is seen at the next look, since this one may not know it.
  let looked = { ...(await look(config.file)), state: '' }
  let brokenSinceMs: number | undefined
  let sound: Sound = { config, reading: readingOf(config), awaitingRestart: [] }

  function readingOf({ content }: Config): Reading {
    return { hash: configurationHash(content), readAtMs: now(), modifiedMs: looked.modifiedMs }
  }

  async function reload(): Promise<void> {
    const before = sound
    // The open mirror and queue stay in use.
    const { mirror, queue, file } = before.config
    looked = await look(file)
    try {
      const written = await readChecked({ ...source, file }, now)
      const read = readingOf(written)
      sound = {
        config: noteSeen({ ...written, mirror, queue }),
        reading: read.hash === before.reading.hash ? before.reading : read,
        awaitingRestart: openSettings.filter((setting) => written[setting] !== before.config[setting]),
      }
      brokenSinceMs = undefined
    } catch (error) {
      brokenSinceMs ??= now()
      throw error
    }
  }

  return {
    get current() {
      return sound.config
    },
    get reading() {
      return sound.reading
    },
    get modifiedMs() {
      return looked.modifiedMs
    },
    get brokenSinceMs() {
      return brokenSinceMs
    },
    get awaitingRestart() {
      return sound.awaitingRestart
    },
    organizationOf: (id) => sound.config.organizations.find((organization) => organization.id === id),
    reload: oneAtATime(reload),
    fileState: async () => (await look(sound.config.file)).state,
    hasRead: (state) => state === looked.state,
  }
}

/** Notes when each organization was first seen. One that leaves the configuration and comes back is as old as before. */
function rememberSeen(now: () => number): (config: Config) => Config {
  const seenAtMs = new Map<string, number>()
  return (config) => {
    for (const { id } of config.organizations) if (!seenAtMs.has(id)) seenAtMs.set(id, now())
    const organizations = config.organizations.map((each) => ({ ...each, seenAtMs: seenAtMs.get(each.id) }))
    return { ...config, organizations }
  }
}

async function readChecked(source: { file?: string | undefined; cwd: string }, now: () => number): Promise<Config> {
  const config = await readConfig(source)
  checkSchedules(config, now())
  return config
}

/** A file that is replaced, as editors and Kubernetes do it, is another one in the same place. */
async function look(file: string): Promise<{ state: string; modifiedMs: number }> {
  const found = await stat(file).catch(() => undefined)
  if (found === undefined) return { state: 'none', modifiedMs: 0 }
  const { dev, ino, size, mtimeMs, ctimeMs } = found
  return { state: [dev, ino, size, mtimeMs, ctimeMs].join(' '), modifiedMs: mtimeMs }
}
