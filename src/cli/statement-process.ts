import { readFileSync, writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { resultsError } from '../copies/copy-error.ts'
import { readStatement } from '../copies/read-rows.ts'
import { describeError } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'
import { textOf } from './output/rows.ts'
import type { StatementPlan, StatementReport } from './sql.ts'

/**
 * The process that runs a statement: SQLite cannot be interrupted by the process that runs it, so this one can be killed.
 * Takes a StatementPlan, writes rows to standard output, and reports on file descriptor 3.
 */
async function main(): Promise<void> {
  const parent = process.ppid
  const plan: StatementPlan = JSON.parse(readFileSync(0, 'utf8'))
  endAfter(parent)
  try {
    report(['reading'])
    report([(await print(plan)) ? 'done' : 'unread'])
  } catch (error) {
    report(['failed', describeError(error)])
  }
}

/** Ends this process a second after its parent: the parent may be killed before it ends a statement at its limit. */
function endAfter(pid: number): void {
  const watch = `setInterval(() => process.ppid === ${pid} || process.kill(process.pid, 'SIGKILL'), 1000)`
  // A thread: this one is busy in SQLite.
  new Worker(watch, { eval: true }).unref()
}

/** Returns false if the reader of standard output has closed it. */
async function print({ file, sql, layout, limitMs }: StatementPlan): Promise<boolean> {
  for await (const text of textOf(readStatement(file, sql, { limitMs }), layout)) {
    report(['writing'])
    try {
      if (!writeAll(1, Buffer.from(text))) return false
    } catch (error) {
      throw resultsError(error)
    }
    report(['reading'])
  }
  return true
}

/** Writes all bytes, and waits where a pipe is full. Returns false if its reader has closed it. */
function writeAll(descriptor: number, bytes: Uint8Array): boolean {
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(descriptor, bytes, written)
    } catch (error) {
      const code = codeOf(error)
      if (code === 'EPIPE') return false
      if (code !== 'EAGAIN') throw error
      // A pipe that another process made non-blocking, and that is full.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
  return true
}

function report(line: StatementReport): void {
  writeSync(3, `${JSON.stringify(line)}\n`)
}

await main()
