import { Command } from '@commander-js/extra-typings'
import { constants } from 'node:os'
import { isOurs } from '../errors.ts'
import { loadCommands } from './commands.ts'
import { EXIT_CODES, exitCodeOf, type ExitCode } from './exit-code.ts'
import type { Io } from './io.ts'
import { monotonicMs } from '../monotonic-clock.ts'
import { keepHeapSmall } from '../small-heap.ts'
import { version } from '../version.ts'

/** The program: reads the command line, runs one command, and turns what became of it into an exit code. */
async function main(): Promise<void> {
  keepHeapSmall()
  // Whatever a command writes, the mirror and its journals included, is for this user alone.
  process.umask(0o077)
  process.stdout.on('error', endWhenNobodyReads)
  process.stderr.on('error', goOnInSilence)
  const stopped = listenForStop()
  const io: Io = {
    signal: stopped.signal,
    stdout: process.stdout,
    stderr: process.stderr,
    exitWith: (code) => {
      process.exitCode = code
    },
  }
  try {
    await (await program(io)).parseAsync()
  } catch (error) {
    process.exitCode = sayWhatHappened(error)
  }
  const stopCode = stopped.exitCode()
  if (stopCode !== undefined) process.exitCode = stopCode
}

async function program(io: Io): Promise<Command> {
  const commands = await loadCommands(process.argv[2], io)
  const root = new Command('customer-mirror')
    .description('Keeps an exact local copy of every organization’s customers in a SQLite file.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .enablePositionalOptions()
    .addHelpText('after', EXAMPLES + exitCodes())
  for (const command of commands) root.addCommand(command)
  for (const command of [root, ...commands, ...commands.flatMap(({ commands: inner }) => inner)]) {
    command.exitOverride(endAsUsage).configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
    })
  }
  return root
}

const EXAMPLES = `
Examples:
  $ customer-mirror init            write a commented configuration to fill in
  $ customer-mirror sync            mirror every organization of the configuration
`

function exitCodes(): string {
  const lines = Object.entries(EXIT_CODES).map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`)
  return `\nExit codes:\n${lines.join('\n')}\n`
}

/** Commander ends with 1 on bad usage; here that is 2, as for a bad configuration. */
function endAsUsage(error: { exitCode: number }): never {
  throw new CommandLineEnded(error.exitCode === 0 ? 0 : 2)
}

/** Commander has said all there is to say: help was asked for, or the command line was wrong. */
class CommandLineEnded extends Error {
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode) {
    super()
    this.exitCode = exitCode
  }
}

function sayWhatHappened(error: unknown): ExitCode {
  if (error instanceof CommandLineEnded) return error.exitCode
  if (isOurs(error)) {
    process.stderr.write(`${error.message}\n`)
  } else {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    process.stderr.write(`Unexpected: ${text}\nThis is a defect of Customer Mirror; please report it.\n`)
  }
  return exitCodeOf(error)
}

/** One Ctrl-C can arrive twice: from the terminal, and passed on by the process that started this one. */
const SAME_SIGNAL_MS = 500

/** The first signal asks the command to stop in good order, the next one ends the program. */
function listenForStop(): { signal: AbortSignal; exitCode: () => ExitCode | undefined } {
  const stopping = new AbortController()
  let code: ExitCode | undefined
  let stoppedAtMs = 0
  for (const [name, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(name, () => {
      if (code !== undefined && monotonicMs() - stoppedAtMs > SAME_SIGNAL_MS) process.exit(exitCode)
      if (code !== undefined) return
      code = exitCode
      stoppedAtMs = monotonicMs()
      stopping.abort()
    })
  }
  return { signal: stopping.signal, exitCode: () => code }
}

/** Without a reader there is nobody to have results for; a full disk behind standard output loses them. */
function endWhenNobodyReads(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(128 + constants.signals.SIGPIPE)
  process.stderr.write(`The results could not be written: ${error.message}\n`)
  process.exit(1)
}

/** The work goes on when nobody listens to what is said beside it. */
function goOnInSilence(): void {
  process.stderr.write = () => true
}

await main()
