import { say, screenOf, withConfig, wrapLines } from './output/print.ts'
import type { ExitCode, Io } from './command.ts'
import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { factsOf, isOurs, UsageError } from '../errors/errors.ts'
import { EXACT_VERSION } from '../machine/version.ts'

/** Runs the one command that the command line names, as the shell split it; what becomes of it turns into an exit code. */
export async function runProgram(args: readonly string[], io: Io): Promise<void> {
  let config: string | undefined
  try {
    const root = await program(args, io)
    root.hook('preAction', (_, called) => void (config = configIn(called.optsWithGlobals())))
    await root.parseAsync(withStatementLast(args), { from: 'user' })
  } catch (error) {
    // Every command may ask for the folder it was started in, which another program can remove.
    const isFolderGone = error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd'
    io.exitWith(sayWhatHappened(isFolderGone ? new UsageError(FOLDER_GONE) : error, io, config))
  }
}

function configIn({ config }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof config === 'string' ? config : undefined
}

const FOLDER_GONE =
  'The folder in which this command was started is no longer there. Change to one that is (cd), then run it again.'

/** A statement that begins with a comment (`-- Who came?`), as those of the documents do, is no option: none has a space or a line in it. */
function withStatementLast(args: readonly string[]): readonly string[] {
  const at = args[0] === 'sql' && !args.includes('--') ? args.findIndex((arg) => /^--(?:\s|.*\n)/.test(arg)) : -1
  return at === -1 ? args : [...args.toSpliced(at, 1), '--', ...args.slice(at, at + 1)]
}

async function program(args: readonly string[], io: Io): Promise<Command> {
  const named = args[0] === 'help' ? args[1] : args[0]
  const commands = COMMANDS.has(named ?? '')
    ? await loadCommands(named, io)
    : // A command that is only named is known to suggestions.
      [...COMMANDS.keys()].map((name) => new Command(name))
  const root = new Command('customer-mirror')
    .version(['-V', '--version'].includes(args[0] ?? '') ? EXACT_VERSION : '', '-V, --version', 'print the version')
    .enablePositionalOptions()
  for (const command of commands) root.addCommand(command)
  for (const command of [root, ...commands, ...commands.flatMap(({ commands: inner }) => inner)]) {
    refuseRepeated(command)
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
  }
  return root.configureHelp({ formatHelp: mainHelp })
}

/** The parser would take the last of two values of one option without a word. */
function refuseRepeated(command: CommandUnknownOpts): void {
  for (const option of command.options.filter(({ required, variadic }) => required && !variadic)) {
    let given = 0
    command.on(`option:${option.name()}`, () => {
      if ((given += 1) > 1) command.error(`error: option '${option.flags}' may be given only once`)
    })
  }
}

/** A help text is as wide as its terminal, and no wider than 80 columns: longer lines are tiring to read. */
function helpWidth(stream: NodeJS.WritableStream): number {
  return Math.min(screenOf(stream)?.columns ?? 80, 80)
}

/** All commands by what they are for, on one screen of 80 columns and 40 rows. */
function mainHelp(): string {
  const groups = Object.entries(GROUPS).map(([heading, group]) => {
    const lines = Object.entries(group).map(([name, [does]]) => `  ${name.padEnd(14)}${does}`)
    return [`${heading}:`, ...lines].join('\n')
  })
  return `Usage: customer-mirror [options] [command]\n${groups.join('\n')}\n${MORE}\n`
}

const MORE = 'Each has --help with its options and examples; sync --help has the exit codes.'

function sayWhatHappened(error: unknown, io: Io, config: string | undefined): ExitCode {
  // Commander has said all there is to say, and ends with 1 on bad usage; here that is 2, as for a bad configuration.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  // It was told to stop, and says no more than its exit code.
  if (io.signal.aborted && error instanceof Error && error.name === 'AbortError') return 0
  const defect = `Unexpected: ${String(error)}\nThis is a defect of Customer Mirror; please report it.`
  say(io.stderr, `${isOurs(error) ? withConfig(error.message, config) : defect}\n`)
  return factsOf(error).exitCode
}

/** The file of a command `run` has a function `runCommand`, which makes it. */
type CommandFile = Readonly<Record<`${string}Command`, (io: Io) => CommandUnknownOpts>>

type Group = Readonly<Record<string, readonly [does: string, load: () => Promise<CommandFile>]>>

/** What each command does, said here and in its help, and its file, of which only that of the command that is called is loaded; in the order of the help. */
const GROUPS: Readonly<Record<string, Group>> = {
  Start: {
    init: ['write a commented configuration to start from; never overwrites', () => import('./init.ts')],
    check: ['check what a sync needs, and ask each organization for a page', () => import('./check.ts')],
    conformance: ['ask a service which of our assumptions hold, in 40 requests', () => import('./conformance.ts')],
    sync: ['mirror organizations now, those named or all', () => import('./sync.ts')],
    demo: ['mirror three made-up organizations from a sandbox, twice', () => import('./sandbox.ts')],
    sandbox: ['start a service like the real one here, with made-up customers', () => import('./sandbox.ts')],
    signing: ['explain how requests are signed, or find out from an example', () => import('./signing.ts')],
    schema: ['print the JSON Schema of the configuration file, for editors', () => import('./init.ts')],
  },
  Watch: {
    status: ['report how current the mirror is, per organization', () => import('./status.ts')],
    runs: ['list the latest runs, newest first', () => import('./runs.ts')],
    rejects: ['list records that could not be kept as customers, and why', () => import('./runs.ts')],
    queue: ['show which runs are under way, wait or are delayed, and why', () => import('./queue.ts')],
    schedule: ['show when each organization is mirrored next, or due now', () => import('./queue.ts')],
  },
  Decide: {
    removals: ['list, show, approve or discard removals that are held back', () => import('./removals.ts')],
    accept: ['accept that fields have changed, and store them as they come', () => import('./removals.ts')],
    organizations: ['list, rename, retire or forget organizations of the mirror', () => import('./organizations.ts')],
    forget: ['delete everything of one customer, and keep that customer out', () => import('./forget.ts')],
  },
  Read: {
    query: ['list customers of the mirror', () => import('./query.ts')],
    diff: ['print who came, left or returned, and which fields changed', () => import('./query.ts')],
    sql: ['run one SQL statement that only reads, or list the tables', () => import('./sql.ts')],
    report: ['show growth, changes, languages and companies, in figures', () => import('./status.ts')],
    export: ['write customers, or what changed, as a file for other programs', () => import('./export.ts')],
    publish: ['make a copy for readers: FILE, s3://bucket/prefix, or configured', () => import('./export.ts')],
    serve: ['answer signed requests for customers, as the service does', () => import('./serve.ts')],
  },
  Operate: {
    worker: ['mirror every organization on its schedule, until stopped', () => import('./worker.ts')],
    run: ['ask the worker to mirror organizations now', () => import('./queue.ts')],
    cancel: ['end runs after their current pages; the next ones continue there', () => import('./queue.ts')],
    pause: ['hold back the runs of organizations, or of all, until resumed', () => import('./queue.ts')],
    resume: ['end the pause of organizations; without a name, every pause', () => import('./queue.ts')],
    backup: ['make a backup of the whole mirror, and check it', () => import('./backup.ts')],
    restore: ['put a backup in the place of the mirror, which is kept beside it', () => import('./backup.ts')],
    move: ['copy the mirror from its file to PostgreSQL or back, and compare', () => import('./backup.ts')],
  },
}

const COMMANDS = new Map(Object.values(GROUPS).flatMap((group) => Object.entries(group)))

/** The command of this name; all commands without a name. */
export async function loadCommands(name: string | undefined, io: Io): Promise<CommandUnknownOpts[]> {
  const named = [...COMMANDS].filter(([each]) => name === undefined || each === name)
  return Array.fromAsync(named, async ([each, [does, load]]) => {
    const make = (await load())[`${each}Command`]
    if (make === undefined) throw new Error(`The file of ${each} makes no such command.`)
    return make(io).description(does)
  })
}
