import { processEnvironment } from '../../config/environment.ts'
import { describeError } from '../../errors/errors.ts'
import type { SourceEvent } from '../../source/customers.ts'
import type { Outcome, Progress } from '../../sync/mirror-organization.ts'
import type { Talk } from '../../sync/run-organization.ts'
import { screenOf } from '../io.ts'
import { summary } from './run-words.ts'
import { duration, grouped } from './say.ts'

/** Reports the progress of runs: on a terminal, or in a log. */
export type Reporter = {
  /** Takes what is reported of one organization, from its beginning to its end. */
  began(id: string): Talk & { ended(outcome: Outcome): void }
  /** Ends the output, after all runs have ended. */
  close(): void
}

/**
 * Shows each active organization on a line of the terminal, as many as fit, and prints a line for each that has ended; the table that follows
 * explains failures. Undefined where no line can be redrawn.
 */
export async function liveProgress(
  ids: readonly string[],
  stderr: NodeJS.WritableStream,
  stop: AbortSignal,
): Promise<Reporter | undefined> {
  const screen = processEnvironment()['TERM'] === 'dumb' ? undefined : screenOf(stderr)
  if (screen === undefined) return undefined
  const { createLogUpdate } = await import('log-update')
  const update = createLogUpdate(screen, { showCursor: true })
  const active = new Map<string, string>()
  let ended = 0
  const draw = () => {
    // One row is left for the cursor, and one for what does not fit.
    const rows = Math.max(1, (screen.rows ?? 24) - 2)
    const shown = [...active].slice(0, rows).map(([id, words]) => `${id}  ${words}`)
    const more = ids.length - ended - shown.length
    const rest = stop.aborted ? STOPPING : more > 0 ? `${grouped(more)} more` : ''
    const lines = rest === '' ? shown : [...shown, `… ${rest}`]
    update(lines.map((line) => line.slice(0, screen.columns - 1)).join('\n'))
  }
  const timer = setInterval(draw, REDRAWN_EVERY_MS)
  stop.addEventListener('abort', draw)
  return {
    began(id) {
      active.set(id, 'asking for the first page')
      draw()
      return {
        onProgress: (progress) => void active.set(id, progressWords(progress)),
        onEvent: (event) => void active.set(id, eventWords(event)),
        ended(outcome) {
          active.delete(id)
          ended += 1
          update.persist(endLine(id, outcome))
          draw()
        },
      }
    },
    close() {
      clearInterval(timer)
      stop.removeEventListener('abort', draw)
      update.clear()
    },
  }
}

const REDRAWN_EVERY_MS = 200
const STOPPING = 'stopping: saving what has arrived (Ctrl-C again ends at once)'

function endLine(id: string, { report, error }: Outcome): string {
  if (error === undefined) return `✔ ${id}  ${summary(report)}`
  if (report.status === 'interrupted') return `■ ${id}  stopped: ${summary(report)}`
  return `✖ ${id}  failed: ${report.error?.code ?? describeError(error).code}`
}

function progressWords({ customers, readBefore, total = 0 }: Progress): string {
  return `${grouped(readBefore + customers)}${total === 0 ? '' : ` of ${grouped(total)}`} customers`
}

function eventWords(event: SourceEvent): string {
  if (event.kind === 'clock-corrected')
    return `the service's clock differs by ${duration(Math.abs(event.offsetMs))}; signing with its time`
  // A wait is never said to be shorter than it is.
  return `${WHY[event.reason]}; continues in ${duration(Math.ceil(event.waitMs / 1000) * 1000)}`
}

const WHY = {
  'rate-limited': 'asked to slow down',
  unavailable: 'not available',
  'mirror-gone': 'the server of the mirror does not answer',
}
