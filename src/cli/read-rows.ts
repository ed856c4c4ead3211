import { readFileSync, writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { describeError } from '../errors.ts'
import { customersStatement, organizationsIn } from '../reading/customers-statement.ts'
import { openToRead } from '../reading/open-to-read.ts'
import { prepareToRead, type ReadableStatement } from '../reading/readable-statement.ts'
import { statementError } from '../reading/statement-error.ts'
import { writeAll } from '../reading/write-all.ts'
import { formatRows } from './output/rows/format-rows.ts'
import type { RowFormat } from './output/rows/row-format.ts'
import type { ReadingPlan, ReadingReport } from './reading-plan.ts'

/**
 * The process that runs a statement: SQLite cannot be interrupted by the process that runs it, so this one can be killed.
 * Takes a ReadingPlan, writes rows to standard output, and reports on file descriptor 3.
 */
function main(): void {
  const parent = process.ppid
  const plan: ReadingPlan = JSON.parse(readFileSync(0, 'utf8'))
  // A statement may take for ever. The customers of a query do not.
  if ('sql' in plan.read) endAfter(parent)
  try {
    report(readRows(plan))
  } catch (error) {
    report(
      error instanceof Unwritten
        ? ['unwritten', error.message]
        : ['failed', describeError(statementError(error, plan.file))],
    )
  }
}

/** Ends this process a second after that one, which may be killed before it ends a statement at its limit. */
function endAfter(pid: number): void {
  const watch = `setInterval(() => process.ppid === ${pid} || process.kill(process.pid, 'SIGKILL'), 1000)`
  // A thread: this one is busy in SQLite.
  new Worker(watch, { eval: true }).unref()
}

function readRows({ file, read, configured, layout, most }: ReadingPlan): ReadingReport {
  const opened = openToRead(file)
  const { db } = opened
  try {
    if ('customers' in read && read.customers.organization !== undefined) {
      const known = organizationsIn(db)
      const { organization } = read.customers
      if (![...known, ...configured].includes(organization)) return ['unknown-organization', { organization, known }]
    }
    report(['reading'])
    const statement = 'sql' in read ? prepareToRead(db, read.sql) : customersStatement(db, read.customers)
    return writeRows(statement, formatRows(layout), most)
  } finally {
    opened.requireUnchanged()
    opened.close()
  }
}

/** Writes what is kept once it is this long. */
const MOST_KEPT = 64 * 1024

function writeRows(statement: ReadableStatement, format: RowFormat, most = Infinity): ReadingReport {
  let text = format.open(statement.columns().map(({ name }) => name))
  let rows = 0
  for (const values of statement.iterate()) {
    if (rows === most) return write(text + format.close()) ? ['done', { more: true }] : ['unread']
    rows += 1
    text += format.row(values)
    if (text.length < MOST_KEPT) continue
    if (!write(text)) return ['unread']
    text = ''
  }
  return write(text + format.close()) ? ['done', { more: false }] : ['unread']
}

/** Writes all of the text to standard output; false if its reader has closed it. */
function write(text: string): boolean {
  report(['writing'])
  try {
    if (!writeAll(1, Buffer.from(text))) return false
  } catch (error) {
    throw new Unwritten(String(error))
  }
  report(['reading'])
  return true
}

/** Standard output took no more, for another reason than that its reader has closed it. */
class Unwritten extends Error {}

function report(line: ReadingReport): void {
  writeSync(3, `${JSON.stringify(line)}\n`)
}

main()
