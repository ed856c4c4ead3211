import { createLogUpdate } from 'log-update'
import wrapAnsi from 'wrap-ansi'
import type { Outcome, Progress } from '../../sync/mirror-organization.ts'
import { describeError } from '../../errors/errors.ts'
import type { WaitingEvent } from '../../source/retry.ts'
import { redrawableScreenOf, STANDING, type Io, type Screen } from '../io.ts'
import { eventWords, type ProgressReporter } from './progress.ts'
import { columnsOf, hanging, padded } from './say.ts'
import { summary, countsOf, duration, grouped } from './wording.ts'

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

/** A line on a terminal that is redrawn in place, until it is erased; nothing where there is no terminal. */
export function statusLine({ stderr }: Pick<Io, 'stderr'>): { show: (text: string) => void; close: () => void } {
  const screen = redrawableScreenOf(stderr)
  if (screen === undefined) return { show: () => {}, close: () => {} }
  const lines = liveLinesOn(screen)
  return { show: (text) => lines.draw([text]), close: () => lines.erase() }
}

/** The same, for how much of something is copied; `share` is from 0 to 1. */
export function shareProgress(
  what: string,
  io: Pick<Io, 'stderr'>,
): { show: (share: number) => void; close: () => void } {
  const { show, close } = statusLine(io)
  return {
    show: (share) => show(share < 1 ? `${what}: ${Math.floor(share * 100)} %` : `${what}: all copied, now checked`),
    close,
  }
}

const REDRAWN_EVERY_MS = 200

/** An active organization. `waits` is set while its run waits. */
type Run = { startedMs: number; progress?: Progress; waits?: { text: string; untilMs: number } }

/** How the organizations that are no longer active ended. */
type Ended = { done: number; stopped: number; failed: number }

/**
 * Shows each active organization on a line of the terminal, as many as fit, and counts the others below. A finished organization gets a line
 * above, which stays; the table that follows explains failures.
 */
export function liveProgress(
  ids: readonly string[],
  screen: Screen,
  monotonicMs: () => number,
  stop?: AbortSignal,
): ProgressReporter {
  const lines = liveLinesOn(screen)
  const name = Math.min(Math.max(...ids.map((id) => id.length)), 24)
  const active = new Map<string, Run>()
  const ended: Ended = { done: 0, stopped: 0, failed: 0 }
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
      active.set(id, { startedMs: monotonicMs() })
      draw()
    },
    progress(id, progress) {
      const run = active.get(id)
      if (run === undefined) return
      run.progress = progress
      if (run.waits !== undefined && run.waits.untilMs <= monotonicMs()) delete run.waits
    },
    event(id, event) {
      const run = active.get(id)
      if (event.kind === 'waiting' && run !== undefined) run.waits = waitsFor(event, monotonicMs())
      else print('·', id, eventWords(event))
    },
    ended(id, outcome) {
      active.delete(id)
      const { how, mark, text } = endOf(outcome)
      ended[how] += 1
      print(mark, id, text)
      draw()
    },
    close() {
      clearInterval(timer)
      stop?.removeEventListener('abort', draw)
      lines.erase()
    },
  }
}

const STOPPING = 'stopping: saving what has arrived (Ctrl-C again ends at once)'

/** While one request waits for a service that failed, others may go on: their pages end what is said of it. */
function waitsFor(event: WaitingEvent, nowMs: number): { text: string; untilMs: number } {
  return { text: eventWords(event), untilMs: event.reason === 'unavailable' ? nowMs : nowMs + event.waitMs }
}

function endOf({ report, error }: Outcome): { how: keyof Ended; mark: string; text: string } {
  if (error === undefined) return { how: 'done', mark: '✔', text: summary(report) }
  if (report.status === 'interrupted') return { how: 'stopped', mark: '■', text: `stopped: ${summary(report)}` }
  return { how: 'failed', mark: '✖', text: `failed: ${report.error?.code ?? describeError(error).code}` }
}

function runWords({ startedMs, progress, waits }: Run, nowMs: number): string {
  if (progress === undefined) return waits?.text ?? 'asking for the first page'
  const reading = { ...progress, elapsedMs: nowMs - startedMs }
  return waits === undefined ? readingWords(reading) : `${countWords(reading)} · ${waits.text}`
}

/** The progress of a run in reading the list, and its duration by the monotonic clock. */
type ReadingSoFar = Omit<Progress, 'organization'> & { elapsedMs: number }

/** Earlier than this, a rate is not meaningful. */
const SHORTEST_ELAPSED_MS = 1000

/** The progress of a run in one line: customers read and their total, the share, the rate and the time left. */
export function readingWords(reading: ReadingSoFar): string {
  const { customers, readBefore, total = 0, pages } = reading
  const isRead = total > 0 && readBefore + customers >= total
  return [
    countWords(reading),
    // Rounded down, so that 100 means everything is read.
    ...(total > 0 ? [`${Math.min(100, Math.floor(((readBefore + customers) / total) * 100))} %`] : []),
    ...(isRead ? [`page ${grouped(pages)}, making sure`] : paceWords(reading)),
  ].join(' · ')
}

function countWords({ customers, readBefore, total }: ReadingSoFar): string {
  const of = total === undefined ? '' : ` of ${grouped(total)}`
  const read = `${grouped(readBefore + customers)}${of} customers`
  return readBefore === 0 ? read : `resumed, ${read} (${grouped(readBefore)} read before)`
}

/** The rate counts only customers read by this run, not by the run it continues. */
function paceWords({ customers, readBefore, total, elapsedMs }: ReadingSoFar): string[] {
  if (customers === 0 || elapsedMs < SHORTEST_ELAPSED_MS) return []
  const perSecond = (customers / elapsedMs) * 1000
  const rate = perSecond >= 10 ? `${grouped(Math.round(perSecond))}/s` : `${grouped(Math.round(perSecond * 60))}/min`
  if (total === undefined) return [rate]
  const leftMs = Math.ceil((total - readBefore - customers) / perSecond) * 1000
  return [rate, `${duration(Math.max(1000, leftMs)).replace('.0', '')} left`]
}
