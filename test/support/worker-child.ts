// A worker in a process of its own, with a test's timings: `node worker-child.ts '{"config": …, "timings": …}'`.
import { flushCompileCache } from 'node:module'
import { z } from 'zod'
import { runWorker } from '../../jobs/worker.ts'

// Killed, it would keep nothing of what was compiled for the next one, which starts in half the time with it.
flushCompileCache()
const options = z
  .object({ config: z.string(), timings: z.record(z.string(), z.number()) })
  .parse(JSON.parse(process.argv[2] ?? ''))
const stopping = new AbortController()
process.umask(0o077)
process.on('SIGTERM', () => {
  process.exitCode = 143
  stopping.abort()
})
await runWorker(
  { ...options, embedded: false, http: { host: '127.0.0.1', port: 0 }, logLevel: 'info' },
  { signal: stopping.signal, stderr: process.stderr },
)
// Timers of the queue must not keep it.
setTimeout(() => process.exit(), 500).unref()
