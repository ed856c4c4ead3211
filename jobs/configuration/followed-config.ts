import { describeError } from '../../src/errors/errors.ts'
import type { LiveConfig } from './live-config.ts'
import { QUIET_MS } from '../sparse-log.ts'
import { succeedsWithin } from '../queue/deadline.ts'
import { AcceptedConfiguration, type Following } from './accepted-configuration.ts'

/** The configuration of a worker, read again when there is a reason to, together with the accepted one. */
export type FollowedConfig = {
  readonly live: LiveConfig
  readonly accepted: AcceptedConfiguration
  /**
   * Reads the file again. Mistakes are logged, and the configuration before stays. `asked`: a user asked for it, so the file counts from
   * when it was last modified. `saved`: the file has changed.
   */
  refresh(why?: Why): Promise<void>
  /** Looks which configuration is accepted. Rejects, or never settles, while the queue cannot be reached. */
  look(): Promise<void>
  /**
   * Reads the file again, if it has changed, for an organization that is not in it. Returns whether it may come yet: this worker does
   * not run on the accepted configuration, or cannot say.
   */
  mayComeLater: () => Promise<boolean>
  /** From now on calls `listener` when the schedules should be compared again: for another content, or the right to write them. */
  onNews(listener: () => void): void
}

type Why = 'asked' | 'saved'

/** How long a job waits for the queue to answer which configuration is accepted. */
const ANSWER_MS = 2000

export function followConfig(live: LiveConfig, following: Omit<Following, 'config'>): FollowedConfig {
  const { log } = following
  const accepted = new AcceptedConfiguration({ ...following, config: live })
  let report = () => {}
  const warnOfMistakes = mistakesLog(following)

  async function refresh(why?: Why): Promise<void> {
    const before = live.reading
    const wasBroken = live.brokenSinceMs !== undefined
    try {
      await live.reload()
    } catch (error) {
      warnOfMistakes(error, why)
      return
    }
    if (why === 'asked') accepted.offerAgain()
    const isNew = live.reading !== before
    if (isNew || wasBroken || why === 'asked' || why === 'saved')
      log.info({ organizations: live.current.organizations.length, changed: isNew }, 'configuration read again')
    const settings = live.awaitingRestart
    if (settings.length > 0 && (isNew || why !== undefined))
      log.warn({ settings }, 'settings were changed that take effect at the next start')
    if (isNew || wasBroken) report()
  }

  async function look(): Promise<void> {
    const before = accepted.writesSinceMs
    await accepted.look()
    // A queue that forgot what was accepted has forgotten its schedules too.
    if (accepted.mayWrite && accepted.writesSinceMs !== before) report()
  }

  async function mayComeLater(): Promise<boolean> {
    // Hundreds of jobs may miss theirs at once, and a file of hundreds of organizations takes a tenth of a second to read.
    if (!live.hasRead(await live.fileState())) await refresh()
    return !(await succeedsWithin(look(), ANSWER_MS)) || !accepted.mayWrite
  }

  return {
    live,
    accepted,
    refresh,
    look,
    mayComeLater,
    onNews: (listener) => {
      report = listener
    },
  }
}

/** Reports mistakes in the file; the same ones once a minute at most, unless a user did something. */
function mistakesLog({ log, monotonicMs }: Pick<Following, 'log' | 'monotonicMs'>) {
  let last: { message: string; atMs: number } | undefined
  return (found: unknown, why: Why | undefined): void => {
    const error = describeError(found)
    const isKnown = last?.message === error.message && monotonicMs() - last.atMs < QUIET_MS
    if (why === undefined && isKnown) return
    last = { message: error.message, atMs: monotonicMs() }
    log.warn({ error }, 'configuration has mistakes, the one before stays')
  }
}
