// A worker in a process of its own, with the timings of the soak: `node worker-child.ts configuration.yaml`.
import type { Timings } from '../../jobs/timings.ts'
import { runWorker } from '../../jobs/worker.ts'
import { isOurs } from '../../src/errors/errors.ts'

/**
 * Shorter than those of users, by the option of `runWorker` that only tests and this soak have, so that lost locks, retries and
 * missed runs fit into minutes. The lease of a run in the mirror lasts a minute, as for users.
 */
const SOAK_TIMINGS: Partial<Timings> = {
  lockMs: 15_000,
  stalledMs: 5000,
  catchUpMs: 15_000,
  leasedWaitMs: 5000,
  mirrorWaitMs: 5000,
  firstRetryMs: 2000,
  longestRetryMs: 10_000,
}

const stopping = new AbortController()
process.umask(0o077)
// It does not outlive the soak.
process.stdin.on('end', () => process.exit(1)).resume()
process.on('SIGTERM', () => {
  process.exitCode = 143
  stopping.abort()
})
await runWorker(
  {
    config: process.argv[2],
    embedded: false,
    http: { host: '127.0.0.1', port: 0 },
    logLevel: 'info',
    timings: SOAK_TIMINGS,
  },
  { signal: stopping.signal, stderr: process.stderr },
).catch((error: unknown) => {
  // As the program does.
  if (!isOurs(error)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
})
// As the program does: timers of the queue must not keep it.
setTimeout(() => process.exit(), 500).unref()
