import { dirname, resolve } from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import { UsageError, CopyFailed, Interrupted, isOurs, reportedError } from '../errors/errors.ts'
import { FORMAT_NAMES, isFormatName, type FormatName } from '../copies/format.ts'
import { isTerminal, type Io, redrawableScreenOf, type Screen } from './io.ts'
import { namedFile, timeArgument, wholeNumber } from './arguments.ts'
import { fileToRead, mirrorOption, unknownOrganization } from './reading/reading-options.ts'
import { say } from './output/say.ts'
import { plainText } from '../text/plain-text.ts'
import { monotonicMs } from '../machine/timers.ts'
import { count, grouped } from './output/wording.ts'
import { startApart } from './reading/run-apart.ts'
import type { Exported } from '../copies/export-rows.ts'
import type { Selection } from '../copies/selection.ts'
import type { UnknownOrganization } from '../copies/organizations.ts'
import { cutText } from './output/fit-text.ts'
import { redrawnLines } from './output/redrawn-lines.ts'

/** `customer-mirror export`: the customers, or what changed, as a file for other programs. */
export function exportCommand(io: Io) {
  return new Command('export')
    .description('write customers, or what changed, as a file for other programs')
    .addOption(new Option('--format <format>', 'format of the file').choices(FORMAT_NAMES))
    .option('-o, --output <file>', 'the file, which is replaced as a whole; - or none: standard output')
    .addOption(
      new Option('--to <folder>', 'a folder, in which each partition gets a file of its own').conflicts(['output']),
    )
    .addOption(
      new Option('--partition <field>', 'with --to: the field whose values divide the rows into partitions').choices([
        'organization',
      ] as const),
    )
    .option('-c, --config <file>', 'configuration file')
    .addOption(mirrorOption())
    .option('--org <organization...>', 'customers of these organizations')
    .option('--include-removed', 'removed customers too')
    .addOption(
      new Option('--as-of <time>', 'the customers as they were then, as the mirror knew them')
        .argParser(timeArgument)
        .conflicts(['includeRemoved', 'changesSince']),
    )
    .addOption(
      new Option('--changes-since <seq>', 'the changes after this seq, in order, in place of customers')
        .argParser(wholeNumber({ least: 0, digits: 15 }))
        .conflicts(['includeRemoved']),
    )
    .addOption(
      new Option('--ids <type>', 'with Parquet: ids as text, which every reader takes, or as its type uuid')
        .choices(['text', 'uuid'] as const)
        .default('text' as const),
    )
    .option('--excel', 'CSV for a spreadsheet: with a byte order mark, and no value runs as a formula')
    .addHelpText('after', EXAMPLES)
    .action(async (options) => {
      const { output } = options
      const folder = folderOf(options)
      const file = output === undefined || output === '-' ? undefined : namedFile(output, 'file')
      const plan = await planOf(options, io)
      if (folder !== undefined) return runExport({ ...plan, isForTerminal: false, output: undefined, folder }, io)
      if (plan.format === 'parquet' && file === undefined && plan.isForTerminal)
        throw new UsageError('Parquet is not text: name a file, e.g. -o customers.parquet')
      await runExport({ ...plan, output: file }, io)
    })
}

type Options = {
  format?: string
  to?: string
  partition?: string
  config?: string
  mirror?: string
  org?: readonly string[]
  includeRemoved?: true
  asOf?: string
  changesSince?: number
  excel?: true
  ids: 'text' | 'uuid'
}

async function planOf(options: Options, io: Io): Promise<Omit<Wanted, 'output'>> {
  const { org = [], includeRemoved, asOf, changesSince, excel = false, ids } = options
  const format = formatOf(options.format ?? (options.to === undefined ? undefined : 'parquet'))
  if (ids === 'uuid' && format !== 'parquet')
    throw new UsageError('--ids uuid is for --format parquet. Use both, or leave --ids out.')
  if (excel && format !== 'csv') throw new UsageError('--excel is for --format csv. Use both, or leave --excel out.')
  return {
    ...(await fileToRead(options)),
    selection: { organizations: org, includeRemoved, asOf, changesSince },
    format,
    excel,
    ids,
    isForTerminal: isTerminal(io.stdout),
  }
}

function formatOf(name: string | undefined): FormatName {
  if (name !== undefined && isFormatName(name)) return name
  throw new UsageError(`Which format? For example: customer-mirror export --format csv -o customers.csv`)
}

/** The folder of the partitions, if there are to be any. */
function folderOf({ to, partition }: Pick<Options, 'to' | 'partition'>): string | undefined {
  if (to === undefined && partition !== undefined)
    throw new UsageError('--partition goes with a folder: --to exports --partition organization')
  if (to === undefined) return undefined
  if (partition === undefined) throw new UsageError(`By what? For example: --to ${to} --partition organization`)
  if (to.trim() === '') throw new UsageError('The name of the folder is empty: --to names a folder.')
  return resolve(namedFile(to, 'folder'))
}

const EXAMPLES = `
Examples:
  $ customer-mirror export --format csv -o customers.csv
      the active customers of every organization, with every column
  $ customer-mirror export --format csv --excel --org acme -o acme.csv
      those of acme, for a spreadsheet
  $ customer-mirror export --format parquet -o customers.parquet
      with types, compressed, for DuckDB, pandas and warehouses
  $ customer-mirror export --to exports --partition organization
      exports/organization=acme/part-0.parquet, and so on for each organization
  $ customer-mirror export --format jsonl --as-of 2026-03-01 -o march.jsonl
      the customers as they were when March began, in UTC
  $ customer-mirror export --format jsonl --changes-since 1200
      what changed after change 1200, with the customers as they are now
`

/** An export with the file that is to be replaced, undefined for standard output, and the configuration that was read for it. */
type Wanted = Omit<ExportPlan, 'to' | 'withProgress'> & {
  output: string | undefined
  configuration: string | undefined
}

/** Exports in a process of its own, and says on standard error what was exported. A file is in its place as a whole, or not at all. */
async function runExport({ output, configuration, ...plan }: Wanted, io: Io): Promise<void> {
  const progress = progressOf(plan, output, io)
  if (output !== undefined) await requirePlaceFor(output, plan.file, configuration)
  const apart = startApart<ExportPlan, ExportReport>('write-export', io)
  try {
    const { last, signal } = await apart.run(
      { ...plan, to: output, withProgress: progress !== undefined },
      (report) => {
        if (report[0] === 'rows') progress?.show(report[1].rows, report[1].total)
      },
    )
    progress?.end()
    const place = output ?? plan.folder
    if (io.signal.aborted && last?.[0] !== 'done') return say(io.stderr, stopped(place))
    const done = endOf(last, signal, plan)
    say(io.stderr, done === undefined ? UNREAD : summaryOf(done, plan, place))
  } finally {
    apart.end()
    progress?.end()
    // The process that wrote it removes it, unless it was killed.
    await tidy(output, plan.folder)
  }
}

/** The exit code is 0, as for any reader of rows that has enough; one that failed has an exit code of its own. */
const UNREAD = 'The reader of standard output closed it: what was written is not all of it.\n'

/** After the process that exports has ended. What cannot be removed now, the next export removes. */
async function tidy(file: string | undefined, folder: string | undefined): Promise<void> {
  try {
    if (folder !== undefined) (await import('../copies/partition-folder.ts')).tidyPartitions(folder)
    if (file !== undefined) (await import('../copies/written-file.ts')).removeLeftovers(dirname(file))
  } catch (error) {
    if (!isOurs(error)) throw error
  }
}

/** Throws UsageError and CopyFailed for a file that cannot be replaced. */
async function requirePlaceFor(file: string, mirror: string, configuration: string | undefined): Promise<void> {
  const [{ atPlace }, { requireOwnFolder, requireTextPlace }] = await Promise.all([
    import('../copies/copy-error.ts'),
    import('../copies/target-place.ts'),
  ])
  atPlace(file, () => {
    const instead = ', or - for standard output'
    requireTextPlace(file, { mirror, configuration, example: 'customers.csv', instead })
    requireOwnFolder(dirname(file), 'export')
  })
}

/** On a terminal, unless rows appear there too. */
function progressOf(
  { selection, isForTerminal }: Pick<Wanted, 'selection' | 'isForTerminal'>,
  output: string | undefined,
  io: Io,
) {
  const screen = redrawableScreenOf(io.stderr)
  if (screen === undefined || (output === undefined && isForTerminal)) return undefined
  return exportProgress(screen, {
    what: selection.changesSince === undefined ? 'customers' : 'changes',
    clockMs: monotonicMs,
  })
}

type Done = Extract<ExportReport, ['done', unknown]>[1]

function endOf(
  last: ExportReport | undefined,
  signal: NodeJS.Signals | null,
  { configured }: Pick<ExportPlan, 'configured'>,
): Done | undefined {
  if (last?.[0] === 'done') return last[1]
  if (last?.[0] === 'unread') return undefined
  if (last?.[0] === 'failed') throw reportedError(last[1])
  if (last?.[0] === 'unknown-organization') {
    throw unknownOrganization(last[1], configured)
  }
  if (signal === 'SIGINT' || signal === 'SIGTERM') throw new Interrupted('The export was stopped.')
  throw new CopyFailed(
    `The export was ended by the system (${signal ?? 'no signal'}), most likely because it needs more memory than there is. What was written to standard output is not all of it; a file was not written.`,
    { code: 'gone' },
  )
}

function stopped(output: string | undefined): string {
  return output === undefined
    ? 'Stopped: what was written is not all of it.\n'
    : `Stopped: ${output} was not written.\n`
}

/** How much it was, what is not in it, and where the next export of changes continues. */
function summaryOf(
  done: Done,
  { selection, excel }: Pick<ExportPlan, 'selection' | 'excel'>,
  output: string | undefined,
): string {
  const left = done.leftOut.map(
    ({ organization, firstReadAt }) =>
      `Left out: ${plainText(organization)}, whose list was ${firstReadAt === undefined ? 'never read to its end' : `first read to its end at ${firstReadAt}`}.\n`,
  )
  const before = done.readBefore.map(
    ({ organization, readAsOf }) =>
      `${plainText(organization)} was last read at ${readAsOf}: its customers are those of then.\n`,
  )
  const what = count(done.rows, selection.changesSince === undefined ? 'customer' : 'change')
  const where = output === undefined ? '' : ` to ${output}`
  const sheet = excel && done.rows > SHEET_ROWS ? [TOO_MANY_FOR_A_SHEET] : []
  return [...left, ...before, ...sheet, `Exported ${what}${where}\nLast seq: ${done.lastSeq}\n`].join('')
}

/** The rows of a sheet below its head. */
const SHEET_ROWS = 1_048_575
const TOO_MANY_FOR_A_SHEET =
  `! A sheet of a spreadsheet holds ${grouped(SHEET_ROWS)} of them, and the program leaves the others out when it opens the file. Export one ` +
  'organization at a time with --org.\n'

/** What the process that exports is to do, as JSON on its standard input. Paths are absolute. */
export type ExportPlan = {
  /** The mirror, or a published copy. */
  file: string
  /** Organizations of the configuration, which may be named although the mirror does not know them yet. */
  configured: readonly string[]
  selection: Selection
  format: FormatName
  excel: boolean
  ids: 'text' | 'uuid'
  /** The file that is written; undefined for standard output. */
  to?: string | undefined
  /** The folder into which each organization gets a file of its own, in place of one for all. */
  folder?: string | undefined
  /** Standard output is a terminal. */
  isForTerminal: boolean
  /** Report the rows so far. */
  withProgress: boolean
}

/** What that process reports: the rows so far, with all there will be where that is known; then how it ended. */
export type ExportReport =
  | ['rows', { rows: number; total?: number | undefined }]
  | ['unread']
  | ['done', Exported]
  | ['unknown-organization', UnknownOrganization]
  | ['failed', { code: string; message: string }]

const REDRAWN_EVERY_MS = 200

/** Shows how far an export is, on one line of a terminal that is erased at the end. */
export function exportProgress(
  screen: Screen,
  { what, clockMs }: { what: 'customers' | 'changes'; clockMs: () => number },
): { show(rows: number, total: number | undefined): void; end(): void } {
  const lines = redrawnLines(screen)
  let drawnAtMs = Number.NEGATIVE_INFINITY
  return {
    show(rows, total) {
      const nowMs = clockMs()
      if (nowMs - drawnAtMs < REDRAWN_EVERY_MS) return
      drawnAtMs = nowMs
      const share = total === undefined || total === 0 ? '' : `, ${Math.floor((rows / total) * 100)} %`
      const of = total === undefined ? '' : ` of ${grouped(total)}`
      lines.draw([cutText(`Exporting: ${grouped(rows)}${of} ${what}${share}`, screen.columns - 1)])
    },
    end: () => lines.erase(),
  }
}
