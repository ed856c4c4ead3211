import { backoffMs } from '../time/durations.ts'
import { factsOf } from '../errors/errors.ts'
import { sleep as timerSleep, type Sleep } from '../machine/timers.ts'
import type { Mirror } from '../store/mirror.ts'

/** How long a run waits for a mirror whose server is gone, and how. */
export type Patience = {
  /** Since the mirror last answered. */
  longestWaitMs: number
  monotonicMs: () => number
  random: () => number
  /** Ends a wait with the error of the mirror. */
  signal: AbortSignal
  onWait?: ((waitMs: number, error: unknown) => void) | undefined
  sleep?: Sleep | undefined
}

/**
 * The same mirror for a run: while its server is gone, the verbs of a run wait, and ask again with the same arguments, by which the mirror
 * knows what it has done already. Any other error ends the run, as does a server that stays away too long.
 */
export function awaitMirror(mirror: Mirror, patience: Patience): Mirror {
  const ask = untilAnswered(patience)
  return {
    ...mirror,
    startRun: (...args) => ask(() => mirror.startRun(...args)),
    applyPrivacy: (...args) => ask(() => mirror.applyPrivacy(...args)),
    savePages: (...args) => ask(() => mirror.savePages(...args)),
    renewLease: (...args) => ask(() => mirror.renewLease(...args)),
    recallWindows: (...args) => ask(() => mirror.recallWindows(...args)),
    findKnownElsewhere: (...args) => ask(() => mirror.findKnownElsewhere(...args)),
    findRemovalCandidates: (...args) => ask(() => mirror.findRemovalCandidates(...args)),
    findGone: (...args) => ask(() => mirror.findGone(...args)),
    findListed: (...args) => ask(() => mirror.findListed(...args)),
    finishRun: (...args) => ask(() => mirror.finishRun(...args)),
    prune: (...args) => ask(() => mirror.prune(...args)),
  }
}

/** How long the runs of these organizations wait for their mirror, and what is done about it. */
export type Awaiting = Pick<Patience, 'monotonicMs' | 'random' | 'signal' | 'sleep'> & {
  organizations: readonly { maxWaitMs: number }[]
  /** Called once, with why it waits and how long at most. */
  onAway: (error: unknown, longestWaitMs: number) => void
}

/** Opens a mirror. While its server is away, it waits as long as a run. */
export function openAwaited(open: () => Promise<Mirror>, awaiting: Awaiting): Promise<Mirror> {
  const { organizations, onAway, ...patience } = awaiting
  const longestWaitMs = Math.max(0, ...organizations.map(({ maxWaitMs }) => maxWaitMs))
  let isReported = false
  const onWait = (_waitMs: number, error: unknown) => {
    if (!isReported) onAway(error, longestWaitMs)
    isReported = true
  }
  return untilAnswered({ ...patience, longestWaitMs, onWait })(open)
}

/** The first wait is short, since a connection that broke is opened again at once. */
const BACKOFF = { firstMs: 500, longestMs: 10_000, least: 0.5 }

function untilAnswered({ longestWaitMs, monotonicMs, random, signal, onWait, sleep = timerSleep }: Patience) {
  let goneSinceMs: number | undefined
  return async <Result>(question: () => Promise<Result>): Promise<Result> => {
    for (let tries = 1; ; tries += 1) {
      try {
        const result = await question()
        goneSinceMs = undefined
        return result
      } catch (error) {
        const { again, from } = factsOf(error)
        if (again !== 'wait' || from !== 'mirror' || signal.aborted) throw error
        goneSinceMs ??= monotonicMs()
        const waitMs = backoffMs(tries, random(), BACKOFF)
        if (monotonicMs() - goneSinceMs + waitMs > longestWaitMs) throw error
        onWait?.(waitMs, error)
        await sleep(waitMs, signal).catch(() => {
          throw error
        })
      }
    }
  }
}
