import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { processEnvironment } from '../../config/environment.ts'
import { keptCompiled, programBeside } from '../../machine/process-apart.ts'
import type { Io } from '../io.ts'

/** A program of ours in a process of its own, which was started and waits for its plan. */
export type Apart<Plan, Report> = {
  /** Hands over the plan, and waits for the end. Returns the last report, and the signal that ended the process if one did. */
  run: (
    plan: Plan,
    onReport?: (report: Report) => void,
  ) => Promise<{ last: Report | undefined; signal: NodeJS.Signals | null }>
  /** Ends the process, if it has not ended. */
  end: () => void
}

/**
 * Starts the program in the file `name` of this folder: it takes its plan as JSON on standard input, prints results on our
 * standard output, and reports, in lines of JSON, on file descriptor 3. Nothing can interrupt SQLite in the process that it works
 * in, so a stop kills that one.
 */
export function startApart<Plan, Report>(name: string, io: Io): Apart<Plan, Report> {
  const output = descriptorOf(io.stdout)
  const ending = new AbortController()
  const child = spawn(process.execPath, programBeside(import.meta.url, name), {
    // What it has to say it reports; what V8 says when there is no memory left is not for users.
    stdio: ['pipe', output ?? 'pipe', 'ignore', 'pipe'],
    env: { ...processEnvironment(), SQLITE_USE_URI: '1', ...keptCompiled() },
    signal: AbortSignal.any([io.signal, ending.signal]),
    killSignal: 'SIGKILL',
  })
  const closed = endOfProcess(child)
  const [, , , reports] = child.stdio
  child.stdin?.on('error', () => {})
  child.stdout?.pipe(io.stdout, { end: false })

  return {
    async run(plan, onReport) {
      let last: Report | undefined
      if (!(reports instanceof Readable)) throw new Error(`${name} has no way to report.`)
      createInterface({ input: reports }).on('line', (line) => {
        const report: Report = JSON.parse(line)
        last = report
        onReport?.(report)
      })
      child.stdin?.end(JSON.stringify(plan))
      await closed
      return { last, signal: child.signalCode }
    },
    end: () => ending.abort(),
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
