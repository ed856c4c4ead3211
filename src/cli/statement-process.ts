import { readFileSync, writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { resultsError } from '../copies/copy-error.ts'
import { readStatement } from '../copies/read-rows.ts'
import { describeError } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'
import { textOf } from './output/rows.ts'
import type { StatementPlan, TooLong } from './query.ts'

const TOO_LONG: TooLong = 'too long'

/**
 * The process that runs a statement: SQLite cannot be interrupted by the process that runs it, so this one is killed. Takes a StatementPlan,
 * writes rows to standard output, and reports on file descriptor 3.
 */
async function main(): Promise<void> {
  const plan: StatementPlan = JSON.parse(readFileSync(0, 'utf8'))
  // A thread: this one is busy in SQLite. The parent may be killed before the statement ends.
  const watched = { parent: process.ppid, limitMs: plan.limitMs, isReading, TOO_LONG }
  new Worker(WATCH, { eval: true, workerData: watched }).unref()
  try {
    isReading[0] = 1
    await print(plan)
  } catch (error) {
    writeSync(3, JSON.stringify(describeError(error)))
  } finally {
    isReading[0] = 0
  }
}

/** 1 while the database works, so that the time counts, and 0 while whatever takes the rows is waited for. */
const isReading = new Int32Array(new SharedArrayBuffer(4))

/** Kills this process at its limit, and after its parent. */
const WATCH = `
  const { workerData: { parent, limitMs, isReading, TOO_LONG } } = require('node:worker_threads')
  const TICK_MS = 10
  let leftMs = limitMs
  setInterval(() => {
    leftMs -= isReading[0] * TICK_MS
    if (leftMs <= 0) require('node:fs').writeSync(3, TOO_LONG)
    if (leftMs <= 0 || process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
  }, TICK_MS)`

/** Prints the rows until the reader of standard output closes it. */
async function print({ file, sql, layout, limitMs }: StatementPlan): Promise<void> {
  for await (const text of textOf(readStatement(file, sql, { limitMs }), layout)) {
    isReading[0] = 0
    try {
      if (!writeAll(1, Buffer.from(text))) return
    } catch (error) {
      throw resultsError(error)
    }
    isReading[0] = 1
  }
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

await main()
