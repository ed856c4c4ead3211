import { readFileSync, writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { writeToStream } from '../copies/write-results.ts'
import { readStatement } from '../copies/read-rows.ts'
import { describeError } from '../errors/errors.ts'
import { textOf } from './output/rows.ts'
import type { StatementPlan } from './sql.ts'

/** 1 while the database works, so that the time counts, and 0 while whatever takes the rows is waited for. */
const isReading = new Int32Array(new SharedArrayBuffer(4))

/** Kills this process at its limit, and after its parent. */
const WATCH = `
  const { workerData: { parent, limitMs, isReading } } = require('node:worker_threads')
  const TICK_MS = 10
  let leftMs = limitMs
  setInterval(() => {
    leftMs -= isReading[0] * TICK_MS
    if (leftMs <= 0) require('node:fs').writeSync(3, 'too long')
    if (leftMs <= 0 || process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
  }, TICK_MS)`

/** Runs a StatementPlan in a process to be killed, as nothing else interrupts SQLite: prints rows, and reports errors on file descriptor 3. */
const plan: StatementPlan = JSON.parse(readFileSync(0, 'utf8'))
// A thread: this one is busy in SQLite. The parent may be killed before the statement ends.
new Worker(WATCH, { eval: true, workerData: { parent: process.ppid, limitMs: plan.limitMs, isReading } }).unref()
try {
  // Until the reader of standard output closes it.
  await writeToStream(process.stdout, rowsOf(plan), new AbortController().signal)
} catch (error) {
  writeSync(3, JSON.stringify(describeError(error)))
} finally {
  isReading[0] = 0
}

/** The text of the rows, as it is taken: its time counts, and that of the writing does not. */
async function* rowsOf({ file, sql, layout, limitMs }: StatementPlan): AsyncGenerator<string, void> {
  isReading[0] = 1
  // A server ends it a little later than this process, which says more about it.
  for await (const text of textOf(readStatement(file, sql, { limitMs: limitMs + 1000 }), layout)) {
    isReading[0] = 0
    yield text
    isReading[0] = 1
  }
}
