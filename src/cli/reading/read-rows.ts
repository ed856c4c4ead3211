import { readFileSync, writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { describeError } from '../../errors/errors.ts'
import { isPostgres } from '../../address/mirror-address.ts'
import { resultsError } from '../../copies/copy-error.ts'
import { readRows } from '../../copies/read-rows.ts'
import { type SqlValue, statementError } from '../../copies/readable-statement.ts'
import { writeAll } from '../../copies/written-file.ts'
import { formatRows } from '../output/rows.ts'
import type { ReadingPlan, ReadingReport } from './run-reading.ts'

/**
 * The process that runs a statement: SQLite cannot be interrupted by the process that runs it, so this one can be killed.
 * Takes a ReadingPlan, writes rows to standard output, and reports on file descriptor 3.
 */
async function main(): Promise<void> {
  const parent = process.ppid
  const plan: ReadingPlan = JSON.parse(readFileSync(0, 'utf8'))
  // A statement may take for ever. The customers of a query do not.
  if ('sql' in plan.read) endAfter(parent)
  try {
    report(await read(plan))
  } catch (error) {
    report(['failed', describeError(isPostgres(plan.file) ? error : statementError(error, plan.file))])
  }
}

/** Ends this process a second after its parent: the parent may be killed before it ends a statement at its limit. */
function endAfter(pid: number): void {
  const watch = `setInterval(() => process.ppid === ${pid} || process.kill(process.pid, 'SIGKILL'), 1000)`
  // A thread: this one is busy in SQLite.
  new Worker(watch, { eval: true }).unref()
}

async function read(plan: ReadingPlan): Promise<ReadingReport> {
  const found = await readRows(plan.file, plan)
  if ('organization' in found) return ['unknown-organization', found]
  report(['reading'])
  const writer = writerOf(plan.layout, plan.most)
  let columns: string[] = []
  for await (const some of found) {
    columns = some.columns
    for (const values of some.rows) {
      const end = writer.take(columns, values)
      if (end !== undefined) return end
    }
  }
  return writer.end(columns)
}

/** Writes what is kept once it is this long. */
const MOST_KEPT = 64 * 1024

/** Writes rows as they come. Each verb returns how it ended, if it did. */
function writerOf(layout: ReadingPlan['layout'], most = Infinity) {
  const format = formatRows(layout)
  let text: string | undefined
  let rows = 0
  const finish = (more: boolean): ReadingReport => (write(text + format.close()) ? ['done', { more }] : ['unread'])
  return {
    take(columns: string[], values: SqlValue[]): ReadingReport | undefined {
      text ??= format.open(columns)
      if (rows === most) return finish(true)
      rows += 1
      text += format.row(values)
      if (text.length < MOST_KEPT) return undefined
      if (!write(text)) return ['unread']
      text = ''
      return undefined
    },
    end(columns: string[]): ReadingReport {
      text ??= format.open(columns)
      return finish(false)
    },
  }
}

/** Writes all of the text to standard output; false if its reader has closed it. */
function write(text: string): boolean {
  report(['writing'])
  try {
    if (!writeAll(1, Buffer.from(text))) return false
  } catch (error) {
    throw resultsError(error)
  }
  report(['reading'])
  return true
}

function report(line: ReadingReport): void {
  writeSync(3, `${JSON.stringify(line)}\n`)
}

await main()
