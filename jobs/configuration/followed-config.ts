import { describeError } from '../../src/errors/errors.ts'
import type { Logger } from '../../src/log.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import type { LiveConfig } from './live-config.ts'

/** The configuration of a worker, read again when its file changes. */
export type FollowedConfig = {
  /** Reads the file at once, as a person asks for it. */
  readNow(): Promise<void>
  /** Reads the file if it has changed: a job is for an organization that is not in the configuration. */
  lookAgain: () => Promise<void>
  stop(): void
}

type Following = {
  /** How often to look whether the file has changed. */
  lookMs: number
  log: Pick<Logger, 'info' | 'warn'>
  /** Called when another content was read, or a person asked for it. */
  onRead: () => void
}

/**
 * Looks at the dates and the size of the file, because not every file system reports changes. Mistakes are logged, and the configuration
 * before stays.
 */
export function followConfig(live: LiveConfig, { lookMs, log, onRead }: Following): FollowedConfig {
  let seen: string | undefined

  async function read(isAsked: boolean): Promise<void> {
    const before = live.hash
    const wasBroken = live.brokenSinceMs !== undefined
    try {
      await live.reload()
    } catch (error) {
      return log.warn({ error: describeError(error) }, 'configuration has mistakes, the one before stays')
    }
    const isNew = live.hash !== before
    if (!isNew && !wasBroken && !isAsked) return
    log.info({ organizations: live.current.organizations.length, changed: isNew }, 'configuration read again')
    const settings = live.awaitingRestart
    if (settings.length > 0) log.warn({ settings }, 'settings were changed that take effect at the next start')
    onRead()
  }

  // Hundreds of jobs may miss their organizations at once, and a file of hundreds takes a tenth of a second to read.
  const lookAgain = oneAtATime(async () => {
    if (!live.hasRead(await live.fileState())) await read(false)
  })

  /** A program may write the file in several steps: what has changed since the look before is read at the next one. */
  const look = oneAtATime(async () => {
    const before = seen
    seen = await live.fileState()
    if (seen === before) await lookAgain()
  })

  const timer = setInterval(() => void look(), lookMs).unref()
  return { readNow: () => read(true), lookAgain, stop: () => clearInterval(timer) }
}
