import { deepEqual } from 'node:assert/strict'
import { env } from 'node:process'
import fc from 'fast-check'
import { afterAll, beforeAll, vi } from 'vitest'
import { seeds } from './seeds.ts'
// oxlint-disable-next-line import/no-unassigned-import -- Vitest reads this file for each test file, and what it imports once in each process.
import './resolve-quickly.mjs'

/** All runs draw the same examples, so that a failure comes from a change. Others: `CUSTOMER_MIRROR_TEST_SEED=$RANDOM npm test`. */
fc.configureGlobal({ seed: Number(env['CUSTOMER_MIRROR_TEST_SEED'] ?? 1), numRuns: seeds(100) })

/** Test files share their process: what a test changes in it is put back when it ends, or its file fails. */
let before: ReturnType<typeof traces>

beforeAll(() => {
  before = traces()
})

afterAll(() => {
  deepEqual(traces(), before)
})

/** What a test could change in its process, and another stumble over. */
function traces() {
  return {
    ...{ folder: process.cwd(), user: process.geteuid?.(), exitCode: process.exitCode, mask: process.umask() },
    ...{ timers: vi.isFakeTimers() ? 'fake' : 'real', environment: { ...env } },
    functions: [setTimeout, setInterval, setImmediate, queueMicrotask, fetch, Date, Math.random],
    listeners: ['SIGINT', 'SIGTERM'].map((event) => `${event}: ${process.listenerCount(event)}`),
  }
}
