import { spawn, type ChildProcess } from 'node:child_process'
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { processEnvironment } from '../config/environment.ts'
import { Interrupted, reportedError } from '../errors.ts'
import { monotonicMs } from '../monotonic-clock.ts'
import type { Io } from './io.ts'
import { duration } from './output/wording.ts'
import type { ReadingPlan, ReadingReport } from './reading-plan.ts'
import { timeLimit } from './time-limit.ts'

/** A process that was started and waits for its plan. */
export type Reading = {
  /**
   * Runs the plan: rows go to standard output. Returns the last report, or undefined when a stop or a limit ended it, which is
   * then reported. `limitMs` counts the time in which SQLite works, not the time in which the rows are taken.
   */
  run(plan: ReadingPlan, options?: { limitMs?: number | undefined }): Promise<ReadingReport | undefined>
  /** Ends the process, if it has not ended. */
  end(): void
}

const PROGRAM = fileURLToPath(new URL(`read-rows${import.meta.url.slice(-3)}`, import.meta.url))

/** Starts the process, which gets ready while the configuration is read. */
export function startReading(io: Io): Reading {
  const output = descriptorOf(io.stdout)
  const ending = new AbortController()
  const child = spawn(process.execPath, [PROGRAM], {
    // What it has to say it reports; what V8 says when there is no memory left is not for users.
    stdio: ['pipe', output ?? 'pipe', 'ignore', 'pipe'],
    env: { ...processEnvironment(), SQLITE_USE_URI: '1', ...keptCompiled() },
    signal: AbortSignal.any([io.signal, ending.signal]),
    killSignal: 'SIGKILL',
  })
  const end = () => ending.abort()
  const closed = endOfProcess(child)
  const [, , , reports] = child.stdio
  child.stdin?.on('error', () => {})
  child.stdout?.pipe(io.stdout, { end: false })

  return {
    async run(plan, { limitMs } = {}) {
      const limit = timeLimit(limitMs, monotonicMs, end)
      let last: ReadingReport | undefined
      if (!(reports instanceof Readable)) throw new Error('The process that reads has no way to report.')
      createInterface({ input: reports }).on('line', (line) => {
        last = JSON.parse(line)
        limit.count(last?.[0] === 'reading')
      })
      child.stdin?.end(JSON.stringify(plan))
      await closed
      limit.count(false)
      if (io.signal.aborted) return undefined
      if (limit.isReached() && last?.[0] !== 'done') return tooLong(io, limitMs ?? 0)
      return endOf(last, child.signalCode, io)
    },
    end,
  }
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

/** A descriptor that the process can write to itself, which saves a copy of every row. */
function descriptorOf(stream: NodeJS.WritableStream): number | undefined {
  return 'fd' in stream && typeof stream.fd === 'number' ? stream.fd : undefined
}

/** What is compiled is kept where this process keeps it. */
function keptCompiled(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir()
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) }
}

function tooLong(io: Io, limitMs: number): undefined {
  io.stderr.write(
    `The statement was ended: it took longer than ${duration(limitMs)}. Rows printed before are not all of them. ` +
      'Ask for less, or allow more with --timeout.\n',
  )
  io.exitWith(5)
}

function endOf(last: ReadingReport | undefined, signal: NodeJS.Signals | null, io: Io): ReadingReport | undefined {
  if (last?.[0] === 'failed') throw reportedError(last[1])
  if (last?.[0] === 'unwritten') {
    io.stderr.write(`The results could not be written: ${last[1]}\n`)
    io.exitWith(1)
    return undefined
  }
  if (last !== undefined && last[0] !== 'reading' && last[0] !== 'writing') return last
  if (signal === 'SIGINT' || signal === 'SIGTERM') throw new Interrupted('The statement was stopped.')
  io.stderr.write(
    'The statement was ended by the system, most likely because it needs more memory than there is. Rows printed before are ' +
      'not all of them. Ask for less at once.\n',
  )
  io.exitWith(5)
  return undefined
}
