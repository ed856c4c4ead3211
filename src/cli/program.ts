import { Command, Help, type CommandUnknownOpts, type OutputConfiguration } from '@commander-js/extra-typings'
import { isOurs, UsageError } from '../errors/errors.ts'
import { exitCodeOf, type ExitCode } from './exit-code.ts'
import { screenOf, type Io } from './io.ts'
import { hanging, print, say, wrapText } from './output/say.ts'
import { exactVersion } from '../machine/version.ts'

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
    .description('Keeps an exact local copy of every organization’s customers in a SQLite file or in PostgreSQL.')
    .option('-V, --version', 'print the version')
    .on('option:version', () => {
      print(io.stdout, `${exactVersion()}\n`)
      throw new CommandLineEnded(0)
    })
    .enablePositionalOptions()
  for (const command of commands) root.addCommand(command)
  for (const command of [root, ...commands, ...commands.flatMap(({ commands: inner }) => inner)]) {
    command
      .exitOverride(endAsUsage)
      .configureHelp({ minWidthToWrap: LEAST_TO_WRAP, formatItem })
      .configureOutput(outputOf(io))
    command.showHelpAfterError(`To see how it is used: ${wordsOf(command)} --help`)
  }
  return root.configureHelp({ formatHelp: (_, help) => mainHelp(commands, help.helpWidth ?? USUAL) })
}

/** The command as it is entered: `customer-mirror runs show`. */
function wordsOf(command: CommandUnknownOpts): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`
}

/** The list of commands leaves less room for what they do than Commander wraps by itself. */
const LEAST_TO_WRAP = 20

/** As Commander has it, beside each other; where that leaves no room for words, the meaning stands below its command or option. */
function formatItem(term: string, termWidth: number, meaning: string, help: Help): string {
  const width = help.helpWidth ?? 80
  if (width - termWidth - 4 >= LEAST_TO_WRAP)
    return Help.prototype.formatItem.call(help, term, termWidth, meaning, help)
  return [`  ${term}`, ...wrapText(meaning, width - 6).map((line) => `      ${line}`)].join('\n')
}

/** Help, and what is said of a mistake, are as wide as the terminal that shows them. */
function outputOf({ stdout, stderr }: Io): OutputConfiguration {
  const widthOf = (stream: NodeJS.WritableStream) => helpColumns(screenOf(stream)?.columns)
  const writeHelp = (stream: NodeJS.WritableStream) => (text: string) => {
    // Commander has wrapped its own part, where it found room.
    if (text.startsWith('Usage: ')) say(stream, text)
    else stream.write(wrapHelp(text, widthOf(stream)))
  }
  return {
    writeOut: writeHelp(stdout),
    writeErr: writeHelp(stderr),
    outputError: (text) => say(stderr, text),
    getOutHelpWidth: () => widthOf(stdout),
    getErrHelpWidth: () => widthOf(stderr),
  }
}

/** All commands by what they are for, on one screen of 80 columns and 40 rows. */
function mainHelp(commands: readonly CommandUnknownOpts[], width: number): string {
  const groups = Object.entries(GROUPS).map(([heading, loaders]) => {
    const shown = commands.filter((command) => Object.hasOwn(loaders, command.name()))
    const lines = shown.map((command) => hanging(`  ${command.name().padEnd(14)}`, command.description(), width))
    return [`${heading}:`, ...lines].join('\n')
  })
  return `Usage: customer-mirror [options] [command]\n\n${groups.join('\n')}\n\n${wrapText(MORE, width).join('\n')}\n`
}

const MORE =
  "'customer-mirror COMMAND --help' shows its options with examples, 'customer-mirror sync --help' the exit codes, and --version the version."

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

function sayWhatHappened(error: unknown, io: Io): ExitCode {
  if (error instanceof CommandLineEnded) return error.exitCode
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
    schema: async (io) => (await import('./schema.ts')).schemaCommand(io),
  },
  Watch: {
    status: async (io) => (await import('./status.ts')).statusCommand(io),
    runs: async (io) => (await import('./runs.ts')).runsCommand(io),
    rejects: async (io) => (await import('./rejects.ts')).rejectsCommand(io),
    queue: async (io) => (await import('./queue.ts')).queueCommand(io),
    schedule: async (io) => (await import('./schedule.ts')).scheduleCommand(io),
  },
  Decide: {
    removals: async (io) => (await import('./removals.ts')).removalsCommand(io),
    accept: async (io) => (await import('./accept.ts')).acceptCommand(io),
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
    pause: async (io) => (await import('./pause.ts')).pauseCommand(io),
    resume: async (io) => (await import('./pause.ts')).resumeCommand(io),
    backup: async (io) => (await import('./backup.ts')).backupCommand(io),
    restore: async (io) => (await import('./restore.ts')).restoreCommand(io),
    move: async (io) => (await import('./move.ts')).moveCommand(io),
  },
}

const LOADERS: Readonly<Record<string, Loader>> = Object.assign({}, ...Object.values(GROUPS))

/** The command named by the first word of a command line; all commands if it names none, for help and suggestions. */
export async function loadCommands(firstWord: string | undefined, io: Io): Promise<CommandUnknownOpts[]> {
  const loaders =
    firstWord !== undefined && Object.hasOwn(LOADERS, firstWord) ? [LOADERS[firstWord]] : Object.values(LOADERS)
  return Promise.all(loaders.flatMap((load) => (load === undefined ? [] : [load(io)])))
}

/** Columns of a help text where there is no terminal, and on a wide one: longer lines are tiring to read. */
const USUAL = 80
const WIDEST = 100
const NARROWEST = 40

/** How wide a help text is on a terminal of so many columns; undefined where there is none. */
function helpColumns(columns: number | undefined): number {
  return columns === undefined || columns > WIDEST ? USUAL : Math.max(columns, NARROWEST)
}

/** The lines of a help text, each in lines of at most `width` columns. Commands stay whole, to be copied. */
function wrapHelp(text: string, width: number): string {
  const lines = text.split('\n').map((line) => {
    const [, start = '', words = ''] = ROW.exec(line) ?? []
    return COMMAND.test(line) ? line : hanging(start, words, width)
  })
  return lines.join('\n')
}

/** An example, the options that continue one, and what stands after a prose with two spaces between. */
const COMMAND = /^ +(\$ |--|customer-mirror )|\S \S.* {2,}\S/
/** A line that may begin with a word, and then says what that means. */
const ROW = /^( *(?:\S+ {2,})?)(.*)$/
