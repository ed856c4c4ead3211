import { say, screenOf, wrapLines } from './output/print.ts'
import type { Io } from './command.ts'
import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { isOurs, UsageError } from '../errors/errors.ts'
import { exactVersion } from '../machine/version.ts'
import { exitCodeOf, type ExitCode } from './exit-code.ts'

/** Runs the one command that the command line names, as the shell split it; what becomes of it turns into an exit code. */
export async function runProgram(args: readonly string[], io: Io): Promise<void> {
  try {
    const root = await program(args, io)
    await root.parseAsync(withStatementLast(args), { from: 'user' })
  } catch (error) {
    // Every command may ask for the folder it was started in, which another program can remove.
    const isFolderGone = error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd'
    io.exitWith(sayWhatHappened(isFolderGone ? new UsageError(FOLDER_GONE) : error, io))
  }
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
  const isCommand = named !== undefined && Object.hasOwn(LOADERS, named)
  const commands = isCommand ? await loadCommands(named, io) : Object.keys(LOADERS).map((name) => described(name))
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
  return root.configureHelp({ formatHelp: mainHelp })
}

/** A help text is as wide as its terminal, and no wider than 80 columns: longer lines are tiring to read. */
function helpWidth(stream: NodeJS.WritableStream): number {
  return Math.min(screenOf(stream)?.columns ?? 80, 80)
}

/** All commands by what they are for, on one screen of 80 columns and 40 rows. */
function mainHelp(): string {
  const groups = Object.entries(GROUPS).map(([heading, group]) => {
    const lines = Object.entries(group).map(([name, description]) => `  ${name.padEnd(14)}${description}`)
    return [`${heading}:`, ...lines].join('\n')
  })
  return `Usage: customer-mirror [options] [command]\n${groups.join('\n')}\n${MORE}\n`
}

const MORE = 'Each has --help with its options and examples; sync --help has the exit codes.'

function sayWhatHappened(error: unknown, io: Io): ExitCode {
  // Commander has said all there is to say, and ends with 1 on bad usage; here that is 2, as for a bad configuration.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  const defect = `Unexpected: ${text}\nThis is a defect of Customer Mirror; please report it.`
  say(io.stderr, `${isOurs(error) ? error.message : defect}\n`)
  return exitCodeOf(error)
}

/** What each command does, in the order of the help. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Start: {
    init: 'write a commented configuration to start from; never overwrites',
    check: 'check what a sync needs, and ask each organization for a page',
    conformance: 'ask a service which of our assumptions hold, in 40 requests',
    sync: 'mirror organizations now, those named or all',
    demo: 'mirror three made-up organizations from a sandbox, twice',
    sandbox: 'start a service like the real one here, with made-up customers',
    signing: 'explain how requests are signed, or find out from an example',
    schema: 'print the JSON Schema of the configuration file, for editors',
  },
  Watch: {
    status: 'report how current the mirror is, per organization',
    runs: 'list the latest runs, newest first',
    rejects: 'list records that could not be kept as customers, and why',
    queue: 'show which runs are under way, wait or are delayed, and why',
    schedule: 'show when each organization is mirrored next, or due now',
  },
  Decide: {
    removals: 'list, show, approve or discard removals that are held back',
    accept: 'accept that fields have changed, and store them as they come',
    organizations: 'list, rename, retire or forget organizations of the mirror',
    forget: 'delete everything of one customer, and keep that customer out',
  },
  Read: {
    query: 'list customers of the mirror',
    diff: 'print who came, left or returned, and which fields changed',
    sql: 'run one SQL statement that only reads, or list the tables',
    report: 'show growth, changes, languages and companies, in figures',
    export: 'write customers, or what changed, as a file for other programs',
    publish: 'make a copy for readers: FILE, s3://bucket/prefix, or configured',
    serve: 'answer signed requests for customers, as the service does',
  },
  Operate: {
    worker: 'mirror every organization on its schedule, until stopped',
    run: 'ask the worker to mirror organizations now',
    cancel: 'end runs after their current pages; the next ones continue there',
    pause: 'hold back the runs of organizations, or of all, until resumed',
    resume: 'end the pause of organizations; without a name, every pause',
    backup: 'make a backup of the whole mirror, and check it',
    restore: 'put a backup in the place of the mirror, which is kept beside it',
    move: 'copy the mirror from its file to PostgreSQL or back, and compare',
  },
}

const DESCRIPTIONS: Readonly<Record<string, string>> = Object.assign({}, ...Object.values(GROUPS))

/** Only the command that is called is loaded. */
const LOADERS: Readonly<Record<string, (io: Io) => Promise<CommandUnknownOpts>>> = {
  init: async (io) => (await import('./init.ts')).initCommand(io),
  check: async (io) => (await import('./check.ts')).checkCommand(io),
  conformance: async (io) => (await import('./conformance.ts')).conformanceCommand(io),
  sync: async (io) => (await import('./sync.ts')).syncCommand(io),
  demo: async (io) => (await import('./sandbox.ts')).demoCommand(io),
  sandbox: async (io) => (await import('./sandbox.ts')).sandboxCommand(io),
  signing: async (io) => (await import('./signing.ts')).signingCommand(io),
  schema: async (io) => (await import('./init.ts')).schemaCommand(io),
  status: async (io) => (await import('./status.ts')).statusCommand(io),
  runs: async (io) => (await import('./runs.ts')).runsCommand(io),
  rejects: async (io) => (await import('./runs.ts')).rejectsCommand(io),
  queue: async (io) => (await import('./queue.ts')).queueCommand(io),
  schedule: async (io) => (await import('./queue.ts')).scheduleCommand(io),
  removals: async (io) => (await import('./removals.ts')).removalsCommand(io),
  accept: async (io) => (await import('./removals.ts')).acceptCommand(io),
  organizations: async (io) => (await import('./organizations.ts')).organizationsCommand(io),
  forget: async (io) => (await import('./forget.ts')).forgetCommand(io),
  query: async (io) => (await import('./query.ts')).queryCommand(io),
  diff: async (io) => (await import('./diff.ts')).diffCommand(io),
  sql: async (io) => (await import('./sql.ts')).sqlCommand(io),
  report: async (io) => (await import('./report.ts')).reportCommand(io),
  export: async (io) => (await import('./export.ts')).exportCommand(io),
  publish: async (io) => (await import('./export.ts')).publishCommand(io),
  serve: async (io) => (await import('./serve.ts')).serveCommand(io),
  worker: async (io) => (await import('./worker.ts')).workerCommand(io),
  run: async (io) => (await import('./worker.ts')).runCommand(io),
  cancel: async (io) => (await import('./worker.ts')).cancelCommand(io),
  pause: async (io) => (await import('./queue.ts')).pauseCommand(io),
  resume: async (io) => (await import('./queue.ts')).resumeCommand(io),
  backup: async (io) => (await import('./backup.ts')).backupCommand(io),
  restore: async (io) => (await import('./backup.ts')).restoreCommand(io),
  move: async (io) => (await import('./backup.ts')).moveCommand(io),
}

/** The command of this name; all commands without a name. */
export async function loadCommands(name: string | undefined, io: Io): Promise<CommandUnknownOpts[]> {
  const loaders = Object.entries(LOADERS).filter(([each]) => name === undefined || each === name)
  return Promise.all(loaders.map(async ([each, load]) => described(each, await load(io))))
}

/** A command with its description; one that is only named is known to the help and to suggestions. */
function described(name: string, command: CommandUnknownOpts = new Command(name)): CommandUnknownOpts {
  return command.description(DESCRIPTIONS[name] ?? '')
}
