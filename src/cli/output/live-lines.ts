import { createLogUpdate } from 'log-update'
import wrapAnsi from 'wrap-ansi'
import { describeError } from '../../errors/errors.ts'
import type { SourceEvent } from '../../source/customers.ts'
import type { Outcome, Progress } from '../../sync/mirror-organization.ts'
import { redrawableScreenOf, STANDING, type Io, type Screen } from '../io.ts'
import type { Reporter } from './progress.ts'
import { columnsOf, hanging, padded } from './say.ts'
import { summary } from './run-words.ts'
import { countsOf, duration, grouped, second } from './wording.ts'

/** The last lines of a terminal, redrawn in place. Printed lines go above them, and stay. */
type LiveLines = {
  draw(lines: readonly string[]): void
  print(text: string): void
  erase(): void
}

function liveLinesOn(screen: Screen): LiveLines {
  const update = createLogUpdate(screen, { showCursor: true })
  let drawn: readonly string[] = []
  const erase = () => {
    update.clear()
    drawn = []
    STANDING.delete(erase)
  }
  const draw = (lines: readonly string[]) => {
    drawn = lines.map((line) => cutText(line, screen.columns - 1))
    if (drawn.length === 0) return erase()
    STANDING.add(erase)
    update(drawn.join('\n'))
  }
  const print = (text: string) => {
    update.persist(text)
    draw(drawn)
  }
  return { draw, print, erase }
}

/** The text in at most `width` columns, shortened with an ellipsis if necessary. */
function cutText(text: string, width: number): string {
  if (columnsOf(text) <= width) return text
  const [start = ''] = wrapAnsi(text, Math.max(1, width - 1), { hard: true, wordWrap: false, trim: false }).split('\n')
  return `${start}…`
}

/** How much of something is copied, `share` from 0 to 1 where it is known, on a line of a terminal that `close` erases. */
export function copyProgress(what: string, { stderr }: Pick<Io, 'stderr'>) {
  const screen = redrawableScreenOf(stderr)
  const lines = screen && liveLinesOn(screen)
  return {
    show: (share: number | undefined) =>
      lines?.draw([
        share === undefined ? what : `${what}: ${share < 1 ? `${Math.floor(share * 100)} %` : 'all copied'}`,
      ]),
    close: () => lines?.erase(),
  }
}

const REDRAWN_EVERY_MS = 200

/** An active organization. `waits` is set while its run waits. */
type Run = { startedMs: number; progress?: Progress; waits?: { text: string; untilMs: number } }

/** What is known of runs that have ended: its mark, and how many there are. */
const ENDS = { done: '✔', stopped: '■', failed: '✖' }

/**
 * Shows each active organization on a line of the terminal, as many as fit, and counts the others below. A finished organization gets a line
 * above, which stays; the table that follows explains failures.
 */
export function liveProgress(
  ids: readonly string[],
  screen: Screen,
  { monotonicMs, stop }: { monotonicMs: () => number; stop?: AbortSignal | undefined },
): Reporter {
  const lines = liveLinesOn(screen)
  const name = Math.min(Math.max(...ids.map((id) => id.length)), 24)
  const active = new Map<string, Run>()
  const ended = { done: 0, stopped: 0, failed: 0 }
  const draw = () => {
    // One row is left for the cursor, and one for the count.
    const shown = [...active].slice(0, Math.max(1, (screen.rows ?? 24) - 2))
    const texts = shown.map(([id, run]) => `${padded(cutText(id, name), name)}  ${runWords(run, monotonicMs())}`)
    const counted = countsOf([
      [active.size - shown.length, 'more under way'],
      [ids.length - active.size - ended.done - ended.stopped - ended.failed, 'not begun'],
      [ended.done, 'done'],
      [ended.stopped, 'stopped'],
      [ended.failed, 'failed'],
    ])
    const counts = [...(stop?.aborted === true ? [STOPPING] : []), ...counted].join(', ')
    lines.draw(counts === '' ? texts : [...texts, `… ${counts}`])
  }
  const print = (mark: string, id: string, text: string) =>
    lines.print(hanging(`${mark} ${padded(id, name)}  `, text, screen.columns - 1))
  const timer = setInterval(draw, REDRAWN_EVERY_MS)
  stop?.addEventListener('abort', draw)

  return {
    began(id) {
      const run: Run = { startedMs: monotonicMs() }
      active.set(id, run)
      draw()
      return {
        onProgress(progress) {
          run.progress = progress
          if (run.waits !== undefined && run.waits.untilMs <= monotonicMs()) delete run.waits
        },
        onEvent(event) {
          if (event.kind !== 'waiting') return print('·', id, eventWords(event))
          // While one request waits for a service that failed, others may go on: their pages end what is said of it.
          const waitMs = event.reason === 'unavailable' ? 0 : event.waitMs
          run.waits = { text: eventWords(event), untilMs: monotonicMs() + waitMs }
        },
        ended(outcome) {
          active.delete(id)
          const { how, text } = endOf(outcome)
          ended[how] += 1
          print(ENDS[how], id, text)
          draw()
        },
      }
    },
    close() {
      clearInterval(timer)
      stop?.removeEventListener('abort', draw)
      lines.erase()
    },
  }
}

const STOPPING = 'stopping: saving what has arrived (Ctrl-C again ends at once)'

function endOf({ report, error }: Outcome): { how: keyof typeof ENDS; text: string } {
  if (error === undefined) return { how: 'done', text: summary(report) }
  if (report.status === 'interrupted') return { how: 'stopped', text: `stopped: ${summary(report)}` }
  return { how: 'failed', text: `failed: ${report.error?.code ?? describeError(error).code}` }
}

function runWords({ startedMs, progress, waits }: Run, nowMs: number): string {
  if (progress === undefined) return waits?.text ?? 'asking for the first page'
  const { customers, readBefore, total = 0 } = progress
  const read = readBefore + customers
  const isOld = readBefore === 0 ? '' : ` (${grouped(readBefore)} read before)`
  const words = `${grouped(read)}${total === 0 ? '' : ` of ${grouped(total)}`} customers${isOld}`
  if (waits !== undefined) return `${words} · ${waits.text}`
  if (total === 0) return words
  // Beyond its total, a list is being read again, and how often is not known.
  const leftMs = customers === 0 ? 0 : ((nowMs - startedMs) / customers) * (total - read)
  // Rounded down, so that 100 means everything is read.
  const percent = Math.min(100, Math.floor((read / total) * 100))
  return `${words} · ${percent} %${leftMs < 1000 ? '' : ` · ${duration(Math.ceil(leftMs / 1000) * 1000)} left`}`
}

/** An event of a run in one line: why it waits and until which time, or a corrected clock. A wait is never reported shorter than it is. */
function eventWords(event: SourceEvent): string {
  if (event.kind === 'clock-corrected') {
    return `the service's clock differs by ${duration(Math.abs(event.offsetMs))}; signing with its time`
  }
  const wait = duration(Math.ceil(event.waitMs / 1000) * 1000)
  return `${WHY[event.reason]}; continues in ${wait}, at ${second(event.untilMs).slice(11)} UTC`
}

const WHY = {
  'rate-limited': 'asked to slow down',
  unavailable: 'not available',
  'mirror-gone': 'the server of the mirror does not answer',
}
