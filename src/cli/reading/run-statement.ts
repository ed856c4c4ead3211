import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Io } from '../io.ts'
import type { Layout } from '../output/rows.ts'
import { duration, say } from '../output/say.ts'
import { processEnvironment } from '../../config/environment.ts'
import { Interrupted, reportedError } from '../../errors/errors.ts'
import { keptCompiled, programBeside } from '../../machine/process-apart.ts'
import { monotonicMs } from '../../machine/timers.ts'

/** What the process that runs a statement is to do, as JSON on its standard input. */
export type StatementPlan = {
  /** The absolute path of a mirror or a copy; or the address of a mirror in PostgreSQL, which may hold a password. */
  file: string
  sql: string
  layout: Layout
  /** How long the statement may take: the time in which the database works, not the time in which the rows are taken. */
  limitMs: number
}

/**
 * What that process reports, one in a line of JSON: `reading` while the database works, so that the time counts, and `writing` while it waits
 * for whatever takes the rows; then how it ended.
 */
export type StatementReport =
  | ['reading' | 'writing' | 'unread' | 'done']
  | ['failed', { code: string; message: string }]

/** A process that was started and waits for its plan. */
export type StatementProcess = {
  /** Runs the plan: rows go to standard output. A stop or a limit that ended it is reported. Throws what the statement threw. */
  run(plan: StatementPlan): Promise<void>
  /** Ends the process, if it has not ended. */
  end(): void
}

/**
 * Starts a process for a statement, which gets ready while the configuration is read. Nothing can interrupt SQLite in the process that it works
 * in, so a stop kills that one.
 */
export function startStatement(io: Io): StatementProcess {
  const ending = new AbortController()
  const child = spawn(process.execPath, programBeside(import.meta.url, 'statement-process'), {
    // What it has to say it reports; what V8 says when there is no memory left is not for users.
    stdio: ['pipe', descriptorOf(io.stdout) ?? 'pipe', 'ignore', 'pipe'],
    env: { ...processEnvironment(), SQLITE_USE_URI: '1', ...keptCompiled() },
    signal: AbortSignal.any([io.signal, ending.signal]),
    killSignal: 'SIGKILL',
  })
  const closed = endOfProcess(child)
  child.stdin?.on('error', () => {})
  child.stdout?.pipe(io.stdout, { end: false })
  return {
    async run(plan) {
      const limit = timeLimit(plan.limitMs, monotonicMs, () => ending.abort())
      const reports: StatementReport[] = []
      createInterface({ input: reportsOf(child) }).on('line', (line) => {
        const report: StatementReport = JSON.parse(line)
        reports.splice(0, 1, report)
        limit.count(report[0] === 'reading')
      })
      child.stdin?.end(JSON.stringify(plan))
      await closed
      limit.count(false)
      const [last = ['reading']] = reports
      if (io.signal.aborted || last[0] === 'done' || last[0] === 'unread') return
      if (last[0] === 'failed') throw reportedError(last[1])
      const { signalCode } = child
      if (signalCode === 'SIGINT' || signalCode === 'SIGTERM') throw new Interrupted('The statement was stopped.')
      say(io.stderr, limit.isReached() ? tooLong(plan.limitMs) : endedBySystem(signalCode))
      io.exitWith(5)
    },
    end: () => ending.abort(),
  }
}

function tooLong(limitMs: number): string {
  return (
    `The statement was ended: it took longer than ${duration(limitMs)}. Rows printed before are not all of them. ` +
    'Ask for less, or allow more with --timeout.\n'
  )
}

function endedBySystem(signal: NodeJS.Signals | null): string {
  return (
    `The statement was ended by the system (${signal ?? 'no signal'}), most likely because it needs more memory than there is. Rows ` +
    'printed before are not all of them. Ask for less at once.\n'
  )
}

/** Waits until it has ended and all that it wrote was taken. */
function endOfProcess(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    child.once('close', () => resolve())
    child.on('error', (error) => {
      if (error.name !== 'AbortError') reject(error)
    })
  })
  ended.catch(() => {})
  return ended
}

function reportsOf({ stdio }: ChildProcess): NodeJS.ReadableStream {
  const [, , , reports] = stdio
  if (reports !== null && reports !== undefined && 'read' in reports) return reports
  throw new Error('The process has no way to report.')
}

/** A descriptor that the process can write to itself, which saves a copy of every row. */
function descriptorOf(stream: NodeJS.WritableStream): number | undefined {
  return 'fd' in stream && typeof stream.fd === 'number' ? stream.fd : undefined
}

/** A limit of time that only runs now and then. */
type TimeLimit = {
  /** Whether time counts from now on. */
  count(isCounted: boolean): void
  isReached(): boolean
}

/** Calls `onReached` once when the time that counted is `limitMs`. */
export function timeLimit(limitMs: number, clockMs: () => number, onReached: () => void): TimeLimit {
  let leftMs = limitMs
  let sinceMs = 0
  let timer: NodeJS.Timeout | undefined
  let isReached = false
  return {
    isReached: () => isReached,
    count(isCounted) {
      if (isReached || isCounted === (timer !== undefined)) return
      if (timer === undefined) {
        sinceMs = clockMs()
        timer = setTimeout(() => {
          isReached = true
          onReached()
        }, leftMs)
      } else {
        clearTimeout(timer)
        timer = undefined
        leftMs = Math.max(0, leftMs - (clockMs() - sinceMs))
      }
    },
  }
}
