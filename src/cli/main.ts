import type { ExitCode, Io } from './command.ts'
import { constants } from 'node:os'
import { isatty } from 'node:tty'
import { describeError, factsOf } from '../errors/errors.ts'
import { resultsError } from '../copies/copy-error.ts'
import { runProgram } from './program.ts'
import { keepHeapSmall, lookForOldObjects } from '../machine/memory.ts'
import { monotonicMs } from '../machine/timers.ts'

async function main(): Promise<void> {
  // All files of a command, with the mirror and its WAL, are private to this user.
  process.umask(0o077)
  // Shorter commands do without it: it costs a twentieth of a start.
  setTimeout(keepHeapSmall, 300).unref()
  // A night of a hundred thousand customers is over by then, and takes a twentieth less time without.
  setTimeout(lookForOldObjects, 3000).unref()
  process.stdout.on('error', endWithoutReader)
  // The work continues when standard error is closed, and lines that come when its disk has room again are written.
  process.stderr.on('error', () => {})
  process.on('SIGINT', () => stopOrEnd(130))
  process.on('SIGTERM', () => stopOrEnd(143))
  const terminals = [0, 1, 2].filter((stream) => isatty(stream))
  const io: Io = {
    signal: stopping.signal,
    // SIGHUP also says that the terminal was closed, and then it is none any more.
    ignoreHangUp: () => void process.on('SIGHUP', () => terminals.some((stream) => !isatty(stream)) && stop(143)),
    stdout: process.stdout,
    stderr: process.stderr,
    exitWith: (code) => void (process.exitCode = code),
    // `process.stdin` would be made for the question, and with it files as streams.
    ...(terminals.includes(0) && terminals.includes(1) && { ask: askPerson }),
    endSoon: () => void setTimeout(() => process.exit(), 500).unref(),
  }
  await runProgram(process.argv.slice(2), io)
  if (stopped !== undefined) process.exitCode = stopped.code
}

/** One Ctrl-C can arrive twice: from the terminal, and from the parent process that forwards it. */
const SAME_SIGNAL_MS = 500

const stopping = new AbortController()
let stopped: { code: ExitCode; atMs: number } | undefined

/** The first signal stops the command in good order, the next one ends the program. */
function stopOrEnd(code: ExitCode): void {
  if (stopped !== undefined && monotonicMs() - stopped.atMs > SAME_SIGNAL_MS) process.exit(code)
  stop(code)
}

function stop(code: ExitCode): void {
  stopped ??= { code, atMs: monotonicMs() }
  stopping.abort()
}

async function askPerson(question: string): Promise<string> {
  const { createInterface } = await import('node:readline')
  process.stdout.write(question)
  for await (const line of createInterface({ input: process.stdin, signal: stopping.signal })) return line
  return ''
}

/** A closed reader of standard output needs no results, but a full disk behind it loses them. Commands that write rows listen themselves. */
function endWithoutReader(error: NodeJS.ErrnoException): void {
  if (process.stdout.listenerCount('error') > 1) return
  if (error.code === 'EPIPE') process.exit(128 + constants.signals.SIGPIPE)
  const lost = resultsError(error)
  process.stderr.write(`${describeError(lost).message}\n`)
  process.exit(factsOf(lost).exitCode)
}

await main()
