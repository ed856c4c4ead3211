import { UsageError } from '../src/errors/errors.ts'
import { runSoak } from './soak/run-soak.ts'

const stopping = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stopping.abort())
try {
  process.exitCode = await runSoak(process.argv.slice(2), {
    ...{ stdout: process.stdout, stderr: process.stderr, signal: stopping.signal },
    exit: (code) => process.exit(code),
  })
} catch (error) {
  if (!stopping.signal.aborted && !(error instanceof UsageError)) throw error
  process.stderr.write(error instanceof UsageError ? `${error.message}\n` : 'Stopped as asked.\n')
  process.exitCode = stopping.signal.aborted ? 143 : 2
}
// Its processes have ended; what else is open, such as a request to a queue that is gone, must not keep it.
setTimeout(() => {
  process.stderr.write(`Kept by ${process.getActiveResourcesInfo().join(', ')} after its end.\n`)
  process.exit()
}, 10_000).unref()
