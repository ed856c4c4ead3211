import type { Outcome, Progress } from '../../sync/mirror-organization.ts'
import { describeError } from '../../errors/errors.ts'
import { columnsOf, wrapText, cutText, padded } from './fit-text.ts'
import type { WaitingEvent } from '../../source/retry.ts'
import type { Screen } from '../io.ts'
import { redrawnLines } from './redrawn-lines.ts'
import { eventWords, type ProgressReporter } from './progress.ts'
import { summary, countsOf, duration, grouped } from './wording.ts'

const REDRAWN_EVERY_MS = 200

/** An active organization. `waits` is set while its run waits. */
type Run = { startedMs: number; progress?: Progress; waits?: Waits }

/** Why a run waits, in two lengths, longest first. Until `untilMs`, pages that arrive were asked for before. */
type Waits = { texts: readonly string[]; untilMs: number }

/**
 * Shows each active organization on a line of the terminal, and counts the others below. A finished organization gets a line
 * above, which stays; the table that follows explains failures.
 */
export function liveLines(
  ids: readonly string[],
  screen: Screen,
  monotonicMs: () => number,
  stop?: AbortSignal,
): ProgressReporter {
  const lines = redrawnLines(screen)
  const name = Math.min(Math.max(...ids.map((id) => id.length)), 24)
  const underWay = new Map<string, Run>()
  let [done, stopped, failed] = [0, 0, 0]
  const draw = () => {
    const shown = [...underWay].map(([id, run]) => ({ id, words: wordsOf(run, monotonicMs()) }))
    const waiting = ids.length - underWay.size - done - stopped - failed
    lines.draw(liveFrame(shown, { waiting, done, stopped, failed, isStopping: stop?.aborted === true }, screen))
  }
  const print = (mark: string, id: string, text: string) => {
    const indent = ' '.repeat(name + 4)
    const said = wrapText(text, Math.max(20, screen.columns - name - 5)).map((line) => indent + line)
    const start = `${mark} ${id}`
    // A name that is too long for its column gets its own line.
    const [first = '', ...more] = columnsOf(id) > name ? ['', ...said] : said
    lines.print([(start + first.slice(start.length)).trimEnd(), ...more])
  }
  const timer = setInterval(draw, REDRAWN_EVERY_MS)
  stop?.addEventListener('abort', draw)

  return {
    began(id) {
      underWay.set(id, { startedMs: monotonicMs() })
      draw()
    },
    progress(id, progress) {
      const run = underWay.get(id)
      if (run === undefined) return
      const isOver = run.waits === undefined || run.waits.untilMs <= monotonicMs()
      underWay.set(id, isOver ? { startedMs: run.startedMs, progress } : { ...run, progress })
    },
    event(id, event) {
      const run = underWay.get(id)
      if (event.kind === 'waiting' && run !== undefined) run.waits = waitsFor(event, monotonicMs())
      else print('·', id, eventWords(event))
    },
    ended(id, outcome) {
      underWay.delete(id)
      if (outcome.error === undefined) done += 1
      else if (outcome.report.status === 'interrupted') stopped += 1
      else failed += 1
      print(...lastWords(id, outcome))
      draw()
    },
    close() {
      clearInterval(timer)
      stop?.removeEventListener('abort', draw)
      lines.erase()
    },
  }
}

function wordsOf({ startedMs, progress, waits }: Run, nowMs: number): string[] {
  if (progress === undefined) return [...(waits?.texts ?? ['asking for the first page'])]
  const reading = { ...progress, elapsedMs: nowMs - startedMs }
  const short = readingWords(reading, { short: true })
  if (waits === undefined) return [readingWords(reading), short]
  return [...waits.texts.map((text) => `${short} · ${text}`), ...waits.texts]
}

/** While one request waits for a service that failed, others may go on: their pages end what is said of it. */
function waitsFor(event: WaitingEvent, nowMs: number): Waits {
  const texts = [eventWords(event), eventWords(event, { short: true })]
  return { texts, untilMs: event.reason === 'unavailable' ? nowMs : nowMs + event.waitMs }
}

function lastWords(id: string, { report, error }: Outcome): [mark: string, id: string, text: string] {
  if (error === undefined) return ['✔', id, summary(report)]
  if (report.status === 'interrupted') return ['■', id, `stopped: ${summary(report)}`]
  return ['✖', id, `failed: ${report.error?.code ?? describeError(error).code}`]
}

/** An active organization, with its status in several lengths, longest first. */
type UnderWay = { id: string; words: readonly string[] }

/** How many organizations wait, and how those ended that have; and whether the program is stopping. */
type Others = { waiting: number; done: number; stopped: number; failed: number; isStopping?: boolean }

/**
 * The lines on the screen while organizations are mirrored: one for each active organization, as many as fit, and one that
 * counts all others. No line is wider than the screen, and there are fewer lines than it has rows.
 */
export function liveFrame(
  underWay: readonly UnderWay[],
  { waiting, done, stopped, failed, isStopping = false }: Others,
  { columns, rows = 24 }: { columns: number; rows?: number | undefined },
): string[] {
  const width = columns - 1
  // One row is left for the cursor, and one for the count.
  const shown = underWay.slice(0, Math.max(1, rows - 2))
  const hidden = underWay.length - shown.length
  const name = Math.min(Math.max(0, ...shown.map(({ id }) => columnsOf(id))), Math.max(8, Math.floor(columns / 3)))
  const lines = shown.map(({ id, words }) => {
    const start = `${padded(cutText(id, name), name)}  `
    const fitting = words.find((text) => columnsOf(start + text) <= width) ?? words.at(-1) ?? ''
    return cutText(start + fitting, width).trimEnd()
  })
  const others = countsOf([
    [hidden, 'more under way'],
    [waiting, 'not begun'],
    [done, 'done'],
    [stopped, 'stopped'],
    [failed, 'failed'],
  ])
  const fronts = isStopping ? STOPPING : [[]]
  const texts = fronts.map((front) => [...front, ...others].join(', ')).filter((text) => text !== '')
  const fitting = texts.find((text) => columnsOf(text) <= width - 2) ?? texts.at(-1)
  return fitting === undefined ? lines : [...lines, cutText(`… ${fitting}`, width)]
}

/** What a stop does, longest first. */
const STOPPING = [
  ['stopping: saving what has arrived (Ctrl-C again ends at once)'],
  ['stopping (Ctrl-C again ends at once)'],
  ['stopping'],
]

/** The progress of a run in reading the list, and its duration by the monotonic clock. */
type ReadingSoFar = {
  customers: number
  readBefore: number
  total: number | undefined
  pages: number
  elapsedMs: number
}

/** Earlier than this, a rate is not meaningful. */
const SHORTEST_ELAPSED_MS = 1000

/**
 * The progress of a run in one line: customers read and their total, the share, the rate and the time left. `short` takes
 * fewer columns.
 */
export function readingWords(reading: ReadingSoFar, { short = false } = {}): string {
  const { customers, readBefore, total } = reading
  const read = readBefore + customers
  const parts = [countWords(reading, short)]
  if (total !== undefined && total > 0) parts.push(`${percentOf(read, total)} %`)
  if (total !== undefined && read >= total && total > 0) parts.push(`page ${number(reading.pages)}, making sure`)
  else parts.push(...paceWords(reading))
  return parts.join(' · ')
}

function countWords({ customers, readBefore, total }: ReadingSoFar, short: boolean): string {
  const read = number(readBefore + customers)
  const of = total === undefined ? '' : short ? `/${number(total)}` : ` of ${number(total)}`
  if (readBefore === 0) return short ? `${read}${of}` : `${read}${of} customers`
  return short ? `resumed, ${read}${of}` : `resumed, ${read}${of} customers (${number(readBefore)} read before)`
}

/** Rounded down, so that 100 means everything is read. */
function percentOf(read: number, total: number): number {
  return Math.min(100, Math.floor((read / total) * 100))
}

/** The rate counts only customers read by this run, not by the run it continues. */
function paceWords({ customers, readBefore, total, elapsedMs }: ReadingSoFar): string[] {
  if (customers === 0 || elapsedMs < SHORTEST_ELAPSED_MS) return []
  const perSecond = (customers / elapsedMs) * 1000
  const rate = perSecond >= 10 ? `${number(perSecond)}/s` : `${number(perSecond * 60)}/min`
  if (total === undefined) return [rate]
  const leftMs = Math.ceil((total - readBefore - customers) / perSecond) * 1000
  return [rate, `${duration(Math.max(1000, leftMs)).replace('.0', '')} left`]
}

function number(value: number): string {
  return grouped(Math.round(value))
}
