import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { isOurs, UsageError } from '../errors/errors.ts'
import { exactVersion } from '../machine/version.ts'
import { exitCodeOf, type ExitCode } from './exit-code.ts'
import { screenOf, type Io } from './io.ts'
import { say, wrapLines } from './output/say.ts'

/** Runs the one command that the command line names, as the shell split it; what becomes of it turns into an exit code. */
export async function runProgram(args: readonly string[], io: Io): Promise<void> {
  try {
    const root = await program(args, io)
    await root.parseAsync(withStatementLast(args), { from: 'user' })
  } catch (error) {
    io.exitWith(sayWhatHappened(isFolderGone(error) ? new UsageError(FOLDER_GONE) : error, io))
  }
}

/** A statement that begins with a comment (`-- Who came?`), as those of the documents do, is no option: none has a space or a line in it. */
function withStatementLast(args: readonly string[]): readonly string[] {
  const at = args[0] === 'sql' && !args.includes('--') ? args.findIndex((arg) => /^--(?:\s|.*\n)/.test(arg)) : -1
  return at === -1 ? args : [...args.toSpliced(at, 1), '--', ...args.slice(at, at + 1)]
}

/** Every command may ask for the folder it was started in, which another program can remove. */
function isFolderGone(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd'
}

const FOLDER_GONE =
  'The folder in which this command was started is no longer there. Change to one that is (cd), then run it again.'

async function program(args: readonly string[], io: Io): Promise<Command> {
  const commands = await loadCommands(args[0], io)
  const root = new Command('customer-mirror')
    .version(['-V', '--version'].includes(args[0] ?? '') ? exactVersion() : '', '-V, --version', 'print the version')
    .enablePositionalOptions()
  for (const command of commands) root.addCommand(command)
  for (const command of [root, ...commands, ...commands.flatMap(({ commands: inner }) => inner)])
    command
      .exitOverride()
      .configureHelp({ minWidthToWrap: 20 })
      .configureOutput({
        writeOut: (text) => io.stdout.write(wrapLines(text, helpWidth(io.stdout))),
        writeErr: (text) => io.stderr.write(wrapLines(text, helpWidth(io.stderr))),
        outputError: (text) => say(io.stderr, text),
        getOutHelpWidth: () => helpWidth(io.stdout),
        getErrHelpWidth: () => helpWidth(io.stderr),
      })
      .showHelpAfterError('To see how it is used, add --help.')
  return root.configureHelp({ formatHelp: () => mainHelp(commands) })
}

/** A help text is as wide as its terminal, and no wider than 80 columns: longer lines are tiring to read. */
function helpWidth(stream: NodeJS.WritableStream): number {
  return Math.min(screenOf(stream)?.columns ?? 80, 80)
}

/** All commands by what they are for, on one screen of 80 columns and 40 rows. */
function mainHelp(commands: readonly CommandUnknownOpts[]): string {
  const groups = Object.entries(GROUPS).map(([heading, loaders]) => {
    const shown = commands.filter((command) => Object.hasOwn(loaders, command.name()))
    return [`${heading}:`, ...shown.map((each) => `  ${each.name().padEnd(14)}${each.description()}`)].join('\n')
  })
  return `Usage: customer-mirror [options] [command]\n\n${groups.join('\n')}\n\n${MORE}\n`
}

const MORE =
  "'customer-mirror COMMAND --help' shows its options with examples, 'customer-mirror sync --help' the exit codes, and --version the version."

function sayWhatHappened(error: unknown, io: Io): ExitCode {
  // Commander has said all there is to say, and ends with 1 on bad usage; here that is 2, as for a bad configuration.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (isOurs(error)) {
    say(io.stderr, `${error.message}\n`)
  } else {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    say(io.stderr, `Unexpected: ${text}\nThis is a defect of Customer Mirror; please report it.\n`)
  }
  return exitCodeOf(error)
}

type Loader = (io: Io) => Promise<CommandUnknownOpts>

/** In the order of the help. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Loader>>>> = {
  Start: {
    init: async (io) => (await import('./init.ts')).initCommand(io),
    check: async (io) => (await import('./check.ts')).checkCommand(io),
    sync: async (io) => (await import('./sync.ts')).syncCommand(io),
    demo: async (io) => (await import('./demo.ts')).demoCommand(io),
    sandbox: async (io) => (await import('./sandbox.ts')).sandboxCommand(io),
    signing: async (io) => (await import('./signing.ts')).signingCommand(io),
    schema: async (io) => (await import('./init.ts')).schemaCommand(io),
  },
  Watch: {
    status: async (io) => (await import('./status.ts')).statusCommand(io),
    runs: async (io) => (await import('./runs.ts')).runsCommand(io),
    rejects: async (io) => (await import('./runs.ts')).rejectsCommand(io),
    queue: async (io) => (await import('./queue.ts')).queueCommand(io),
    schedule: async (io) => (await import('./schedule.ts')).scheduleCommand(io),
  },
  Decide: {
    removals: async (io) => (await import('./removals.ts')).removalsCommand(io),
    accept: async (io) => (await import('./removals.ts')).acceptCommand(io),
    organizations: async (io) => (await import('./organizations.ts')).organizationsCommand(io),
    forget: async (io) => (await import('./forget.ts')).forgetCommand(io),
  },
  Read: {
    query: async (io) => (await import('./query.ts')).queryCommand(io),
    sql: async (io) => (await import('./sql.ts')).sqlCommand(io),
    export: async (io) => (await import('./export.ts')).exportCommand(io),
    publish: async (io) => (await import('./publish.ts')).publishCommand(io),
  },
  Operate: {
    worker: async (io) => (await import('./worker.ts')).workerCommand(io),
    run: async (io) => (await import('./run.ts')).runCommand(io),
    cancel: async (io) => (await import('./cancel.ts')).cancelCommand(io),
    pause: async (io) => (await import('./queue.ts')).pauseCommand(io),
    resume: async (io) => (await import('./queue.ts')).resumeCommand(io),
    backup: async (io) => (await import('./backup.ts')).backupCommand(io),
    restore: async (io) => (await import('./backup.ts')).restoreCommand(io),
    move: async (io) => (await import('./backup.ts')).moveCommand(io),
  },
}

const LOADERS: Readonly<Record<string, Loader>> = Object.assign({}, ...Object.values(GROUPS))

/** The command named by the first word of a command line; all commands if it names none, for help and suggestions. */
export async function loadCommands(firstWord: string | undefined, io: Io): Promise<CommandUnknownOpts[]> {
  const loaders =
    firstWord !== undefined && Object.hasOwn(LOADERS, firstWord) ? [LOADERS[firstWord]] : Object.values(LOADERS)
  return Promise.all(loaders.flatMap((load) => (load === undefined ? [] : [load(io)])))
}
