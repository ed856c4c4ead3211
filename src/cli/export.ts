import { resolve } from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import { UsageError } from '../errors/errors.ts'
import { FORMAT_NAMES, isFormatName, type FormatName } from '../reading/export/formats.ts'
import { isTerminal, type Io } from './io.ts'
import { namedFile, timeArgument, wholeNumber } from './arguments.ts'
import { fileToRead, mirrorOption } from './reading/reading-options.ts'
import type { Wanted } from './reading/run-export.ts'

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
    .option('--excel', 'CSV for a spreadsheet: with a byte order mark, and no value runs as a formula')
    .addHelpText('after', EXAMPLES)
    .action(async (options) => {
      const { runExport } = await import('./reading/run-export.ts')
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
}

async function planOf(options: Options, io: Io): Promise<Omit<Wanted, 'output'>> {
  const { org = [], includeRemoved, asOf, changesSince, excel = false } = options
  const format = formatOf(options.format ?? (options.to === undefined ? undefined : 'parquet'))
  if (excel && format !== 'csv') throw new UsageError('--excel is for --format csv. Use both, or leave --excel out.')
  return {
    ...(await fileToRead(options)),
    selection: { organizations: org, includeRemoved, asOf, changesSince },
    format,
    excel,
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
