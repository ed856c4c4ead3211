import { Option } from '@commander-js/extra-typings'
import { UsageError } from '../errors/errors.ts'
import { command, durationArgument } from './command.ts'
import type { Io } from './io.ts'
import { fileToRead, layoutOf, mirrorOption, type ReadingOptions } from './reading/reading-options.ts'
import { startStatement, type StatementProcess } from './reading/run-statement.ts'

/** `customer-mirror sql`: the rows of one statement that only reads. */
export function sqlCommand(io: Io) {
  return command('sql', 'run one SQL statement that only reads, or list the tables', EXAMPLES)
    .argument('[statement]', 'SELECT, WITH, VALUES or EXPLAIN; - reads it from standard input')
    .addOption(mirrorOption())
    .option('--tables', 'list the public tables and their columns')
    .addOption(
      new Option('--timeout <time>', 'end a statement that takes longer: 500ms, 30s, 5m')
        .argParser(TIMEOUT)
        .default(30_000, '30s'),
    )
    .addOption(new Option('--json', 'print one JSON document').conflicts(['csv', 'jsonl']))
    .addOption(new Option('--csv', 'print CSV (RFC 4180), values as they are').conflicts('jsonl'))
    .option('--jsonl', 'print a JSON object on each line')
    .action(async (statement, options) => {
      if (options.tables) {
        if (statement !== undefined) throw new UsageError('--tables takes no statement. Leave one of the two out.')
        const { listTables } = await import('./reading/list-tables.ts')
        return listTables(options, io)
      }
      if (statement === undefined)
        throw new UsageError('Which statement? For example: customer-mirror sql "SELECT * FROM freshness"')
      const reading = startStatement(io)
      try {
        await run(reading, statement, options, io)
      } finally {
        reading.end()
      }
    })
}

async function run(
  reading: StatementProcess,
  statement: string,
  { timeout: limitMs, ...options }: ReadingOptions & { timeout: number },
  io: Io,
): Promise<void> {
  const layout = layoutOf(options, { list: 'rows', nothing: 'NULL', stdout: io.stdout })
  const { file } = await fileToRead(options)
  const sql = statement === '-' ? await statementFromInput(io) : statement
  if (io.signal.aborted) return
  try {
    await reading.run({ file, sql, layout, limitMs })
  } catch (error) {
    const { withSuggestion } = await import('./reading/list-tables.ts')
    throw withSuggestion(error)
  }
}

async function statementFromInput({ signal }: Io): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  const input = process.stdin
  const stop = () => void input.destroy()
  signal.addEventListener('abort', stop)
  try {
    for await (const chunk of input) {
      const part = Buffer.from(chunk)
      chunks.push(part)
      bytes += part.length
      if (bytes > MOST_BYTES) throw new UsageError('The statement on standard input is longer than 1 MiB. Shorten it.')
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const MOST_BYTES = 1024 * 1024

const TIMEOUT = durationArgument({ least: '1ms', most: '1d', examples: '500ms, 30s or 5m' })

const EXAMPLES = `
Examples:
  $ customer-mirror sql --tables
      the tables and columns to rely on, with what each holds
  $ customer-mirror sql "SELECT language, COUNT(*) FROM active_customers GROUP BY language"
      a table for people
  $ customer-mirror sql - --csv --timeout 5m < report.sql > report.csv
      a statement from a file, its rows as CSV; control characters and formulas in the values stay as they are

The mirror is opened read-only. Only the time in which the database works counts for --timeout. In JSON, integers have all their digits, a BLOB is {"base64":"…"}, and a column whose name comes a second time is numbered (id, id_2).
`
