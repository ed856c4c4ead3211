import { duration, say, show } from './output/print.ts'
import { CSV, durationArgument, type Io, jsonCommand, MIRROR } from './command.ts'
import { fileToRead } from './opening.ts'
import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Option } from '@commander-js/extra-typings'
import { processEnvironment } from '../config/environment.ts'
import { isOurs, reportedError, UsageError } from '../errors/errors.ts'
import { askApart } from '../machine/process-apart.ts'
import { PUBLIC_TABLES } from '../model/public-tables.ts'
import { plainText } from '../text/plain-text.ts'
import { type Layout, layoutOf } from './output/rows.ts'

export function sqlCommand(io: Io) {
  return jsonCommand('sql', {
    about:
      'The mirror is opened read-only. --tables shows the types of SQLite; SELECT * FROM dictionary those of the mirror itself. Only the time in which the database works counts for --timeout. In JSON, integers have all their digits, a BLOB is {"base64":"…"}, and a column whose name comes a second time is numbered (id, id_2).',
    'sql --tables': 'the tables and columns to rely on, with what each holds',
    'sql "SELECT language, COUNT(*) FROM active_customers GROUP BY language"': 'a table for people',
    'sql - --csv --timeout 5m < report.sql > report.csv':
      'a statement from a file, its rows as CSV, values as they are',
  })
    .argument('[statement]', 'SELECT, WITH or VALUES; - reads it from standard input')
    .addOption(MIRROR)
    .addOption(new Option('--tables', 'list the public tables and their columns').conflicts(['mirror', 'csv']))
    .option('--timeout <time>', 'end a statement that takes longer: 500ms, 30s, 5m (default: 30s)', TIMEOUT)
    .addOption(CSV)
    .action(async (statement, { tables, timeout: limitMs = 30_000, ...options }) => {
      if (tables) {
        if (statement !== undefined) throw new UsageError('--tables takes no statement. Leave one of the two out.')
        const rows = PUBLIC_TABLES.flatMap(({ name: table, meaning: about, columns }) => [
          [table, '', '', about],
          ...columns.map(({ name, type, meaning }) => ['', name, type, meaning]),
        ])
        const table = { head: ['table', 'column', 'type', 'meaning'], rows }
        return show(io, options.json, { document: { tables: PUBLIC_TABLES }, table })
      }
      if (statement === undefined)
        throw new UsageError('Which statement? For example: customer-mirror sql "SELECT * FROM freshness"')
      const layout = layoutOf(options, { document: { rows: [] }, nothing: 'NULL', stdout: io.stdout })
      const { file } = await fileToRead(options)
      const sql = statement === '-' ? await statementFromInput(io) : statement
      if (!io.signal.aborted) await runStatement({ file, sql, layout, limitMs }, io)
    })
}

const TIMEOUT = durationArgument({ least: '1ms', most: '1d', examples: '500ms, 30s or 5m' })

async function statementFromInput({ signal }: Io): Promise<string> {
  return text(addAbortSignal(signal, process.stdin)).catch((error: unknown) => {
    if (signal.aborted) return ''
    throw error
  })
}

/** What the process that runs a statement is to do, as JSON on its standard input. */
export type StatementPlan = {
  /** The absolute path of a mirror or a copy; or the address of a mirror in PostgreSQL, which may hold a password. */
  file: string
  sql: string
  layout: Layout
  /** How long the statement may take: the time in which the database works, not the time in which the rows are taken. */
  limitMs: number
}

/** Runs the plan in a process that a stop or its limit kills, as nothing else interrupts SQLite. Rows go to standard output. Throws its error. */
async function runStatement(plan: StatementPlan, io: Io): Promise<void> {
  const asking = { env: processEnvironment(), signal: io.signal, results: io.stdout }
  const { said, ending } = await askApart('cli/statement-process', JSON.stringify(plan), asking)
  if (io.signal.aborted || (ending === undefined && said === '')) return
  if (ending === undefined) throw withAdvice(reportedError(JSON.parse(said)))
  const why =
    said === 'too long'
      ? `it took longer than ${duration(plan.limitMs)}. Ask for less, or allow more with --timeout.`
      : `by the system (${ending}), most likely because it needs more memory than there is. Ask for less at once.`
  say(io.stderr, `The statement was ended: ${why} Rows printed before are not all of them.\n`)
  io.exitWith(5)
}

/** The error of a statement, and where the tables and columns are listed if it names one that there is not. */
function withAdvice(error: Error): Error {
  if (!isOurs(error) || error.code !== 'usage') return error
  const message = plainText(error.message)
  if (!/no such (table|column): |(relation|column) .* does not exist/.test(message)) return new UsageError(message)
  return new UsageError(`${message}${message.endsWith('?') ? '' : '.'} 'customer-mirror sql --tables' lists them all.`)
}
