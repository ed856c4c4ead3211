import { duration, grouped, screenOf } from './print.ts'
import { processEnvironment } from '../../config/environment.ts'
import { factsOf } from '../../errors/errors.ts'
import type { Outcome } from '../../sync/mirror-organization.ts'
import type { Talk } from '../../sync/run-organization.ts'
import { summary } from './run-words.ts'

/**
 * Shows each active organization on a line of the terminal, as many as fit, above them one of each that has ended. Undefined where no person is
 * looking: cron mails every word.
 */
export async function liveLines(ids: readonly string[], stderr: NodeJS.WritableStream, stop: AbortSignal) {
  const screen = processEnvironment()['TERM'] === 'dumb' ? undefined : screenOf(stderr)
  if (screen === undefined) return undefined
  const { createLogUpdate } = await import('log-update')
  const update = createLogUpdate(screen, { showCursor: true })
  const active = new Map<string, string>()
  let ended = 0
  const draw = () => {
    // One row is left for the cursor, and one for what does not fit.
    const shown = [...active].slice(0, Math.max(1, (screen.rows ?? 24) - 2))
    const more = ids.length - ended - shown.length
    const rest = stop.aborted ? [`… ${STOPPING}`] : more > 0 ? [`… ${grouped(more)} more`] : []
    const lines = [...shown.map(([id, words]) => `${id}  ${words}`), ...rest]
    update(lines.map((line) => line.slice(0, screen.columns - 1)).join('\n'))
  }
  const timer = setInterval(draw, REDRAWN_EVERY_MS)
  stop.addEventListener('abort', draw)
  return {
    /** Takes what is reported of one organization, from its beginning to its end. */
    began(id: string): Talk & { ended(outcome: Outcome): void } {
      active.set(id, 'asking for the first page')
      draw()
      return {
        onProgress: ({ customers, readBefore, total = 0 }) => {
          const of = total === 0 ? '' : ` of ${grouped(total)}`
          active.set(id, `${grouped(readBefore + customers)}${of} customers`)
        },
        onEvent: (event) => {
          // A clock that is corrected makes nothing wait, and a wait is never said to be shorter than it is.
          if (event.kind === 'waiting')
            active.set(id, `${WHY[event.reason]}; continues in ${duration(Math.ceil(event.waitMs / 1000) * 1000)}`)
        },
        ended({ report, error }) {
          active.delete(id)
          ended += 1
          const words = error === undefined ? `✔ ${id}  ${summary(report)}` : `✖ ${id}  ${factsOf(error).title}`
          update.persist(words)
          draw()
        },
      }
    },
    /** Ends the output, after all runs have ended. */
    close() {
      clearInterval(timer)
      stop.removeEventListener('abort', draw)
      update.clear()
    },
  }
}

const REDRAWN_EVERY_MS = 200
const STOPPING = 'stopping: saving what has arrived (Ctrl-C again ends at once)'
const WHY = {
  'rate-limited': 'asked to slow down',
  unavailable: 'not available',
  'mirror-gone': 'the server of the mirror does not answer',
}
