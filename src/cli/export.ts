import { count, grouped, isTerminal, linesOf, say, show, withConfig } from './output/print.ts'
import { command, type Io, jsonCommand, MIRROR, oneOf, wholeNumber } from './command.ts'
import { fileToRead, namedConfig, namedFile } from './opening.ts'
import { copyExitCode, failedText, publishedText } from './output/run-words.ts'
import { type Exported, exportMirror, type ExportPlan } from '../copies/export-mirror.ts'
import { FORMAT_NAMES } from '../copies/format.ts'
import { configuredPlans, ownerAlone, planPlace, publishApart } from '../copies/publish-plan.ts'
import { UsageError } from '../errors/errors.ts'
import { plainText } from '../text/plain-text.ts'

export function exportCommand(io: Io) {
  return command('export', {
    'export -o customers.csv': 'the active customers of every organization, with every column',
    'export --excel --org acme -o acme.csv': 'those of acme, for a spreadsheet',
    'export -o customers.parquet': 'with types, compressed, for DuckDB, pandas and warehouses',
    'export --format jsonl --changes-since 1200': 'what changed after change 1200, with the customers as they are now',
  })
    .option('--format <format>', 'csv, jsonl or parquet; or as the name of the file says', oneOf(...FORMAT_NAMES))
    .option('-o, --output <file>', 'the file, which is replaced as a whole; - or none: standard output')
    .addOption(MIRROR)
    .option('--org <organization...>', 'customers of these organizations')
    .option('--include-removed', 'removed customers too')
    .option('--changes-since <seq>', 'the changes after this seq, in place of customers', wholeNumber({ least: 0 }))
    .option('--ids <type>', 'with Parquet: text, or uuid, which few readers take', oneOf('text', 'uuid'), 'text')
    .option('--excel', 'CSV for a spreadsheet: with a byte order mark, and no value runs as a formula')
    .action(async (options) => {
      const { org = [], includeRemoved, changesSince, excel = false, ids, output = '-' } = options
      const to = output === '-' ? io.stdout : namedFile(output, 'file')
      const format = options.format ?? FORMAT_NAMES.find((name) => output.toLowerCase().endsWith(`.${name}`))
      if (format === undefined)
        throw new UsageError(`Which format? For example: customer-mirror export -o customers.csv, or --format csv`)
      if (includeRemoved && changesSince !== undefined)
        throw new UsageError('--changes-since has removed customers too: leave --include-removed out.')
      if (ids === 'uuid' && format !== 'parquet')
        throw new UsageError('--ids uuid is for --format parquet. Use both, or leave --ids out.')
      if (excel && format !== 'csv')
        throw new UsageError('--excel is for --format csv. Use both, or leave --excel out.')
      const isForTerminal = output === '-' && isTerminal(io.stdout)
      if (format === 'parquet' && isForTerminal)
        throw new UsageError('Parquet is not text: name a file, e.g. -o customers.parquet')
      const { file: mirror, ...configured } = await fileToRead(options)
      const plan: ExportPlan = {
        ...{ mirror, ...configured, format, to, isForTerminal },
        selection: { organizations: org, includeRemoved, changesSince },
        settings: { excel, ids },
      }
      const done = await exportMirror(plan, io.signal)
      // The exit code is 0, as for any reader of rows that has enough.
      if (done === undefined)
        say(io.stderr, 'The reader of standard output closed it: what was written is not all of it.\n')
      else say(io.stderr, summaryOf(done, plan))
    })
}

export function summaryOf(done: Exported, plan: Pick<ExportPlan, 'selection' | 'settings' | 'to'>): string {
  const what = count(done.rows, plan.selection.changesSince === undefined ? 'customer' : 'change')
  return linesOf([
    ...done.leftOut.map((each) => `Left out: ${plainText(each)}, whose list was never read to its end.`),
    plan.settings.excel && done.rows > SHEET_ROWS && TOO_MANY_FOR_A_SHEET,
    `Exported ${what}${typeof plan.to === 'string' ? ` to ${plan.to}` : ''}`,
    `Last seq: ${done.lastSeq}`,
  ])
}

const SHEET_ROWS = 1_048_575
const TOO_MANY_FOR_A_SHEET =
  `! A sheet of a spreadsheet holds ${grouped(SHEET_ROWS)} of them, and the program leaves the others out when it opens the file. Export one ` +
  'organization at a time with --org.'

export function publishCommand(io: Io) {
  return jsonCommand('publish', {
    about:
      'The copy holds what is public in the mirror, is replaced as a whole, and opens from a read-only place. Only its owner may read it, and the group that publish.group in the configuration names. In a bucket, each organization is one Parquet object, customers/organization=…/customers-….parquet, and manifest.json, which is written last, names them. Credentials come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), a profile or a role; AWS_ENDPOINT_URL_S3 names a service other than Amazon S3.',
    publish: 'the copy of the configuration, as after each night',
    'publish ./copies/customers.db --json': 'another file, and what it holds as JSON',
    'publish s3://analytics/customer-mirror': 'a Parquet object for each organization',
  })
    .argument('[file]', 'the copy, in a folder of its own; or a place in object storage')
    .action(async (file, { config: configFile, json }) => {
      const config = await namedConfig(configFile)
      // A place in object storage is read with the plan.
      const named = file === undefined || /^s3:/i.test(file) ? file : namedFile(file, 'copy')
      const plans = configuredPlans(config, named)
      if (plans.length === 0) throw new UsageError(NO_FILE)
      const published = await publishApart(plans, io)
      for (const plan of plans) {
        const alone = ownerAlone(plan)
        if (alone) published.warnings.push(`${planPlace(plan)}: ${alone.said}; ${alone.fix}`)
      }
      show(io, json, { document: published, text: publishedText(published) })
      say(io.stderr, withConfig(failedText(published), configFile))
      io.exitWith(copyExitCode(published))
    })
}

const NO_FILE =
  "Nothing says where the copy goes. Name a file in a folder of its own, e.g. 'customer-mirror publish ./copies/customers.db', " +
  'or s3://bucket/prefix, or add publish: { file: ./copies/customers.db } to the configuration.'
