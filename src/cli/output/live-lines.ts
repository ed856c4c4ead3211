import type { Outcome, Progress } from '../../mirror-organization.ts'
import { describeError } from '../../errors/errors.ts'
import { columnsOf, wrapText } from './fit-text.ts'
import type { WaitingEvent } from '../../source/pace/retry.ts'
import type { Screen } from '../io.ts'
import { liveFrame } from './live-frame.ts'
import { readingWords } from './reading-words.ts'
import { redrawnLines } from './redrawn-lines.ts'
import { eventWords, type ProgressReporter } from './progress-reporter.ts'
import { summary } from './wording.ts'

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
