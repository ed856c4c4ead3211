import { UsageError } from '../src/errors.ts'
import { runSoak } from './soak/run-soak.ts'

const stopping = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stopping.abort())
try {
  process.exitCode = await runSoak(process.argv.slice(2), { ...process, signal: stopping.signal })
} catch (error) {
  if (!stopping.signal.aborted && !(error instanceof UsageError)) throw error
  process.stderr.write(error instanceof UsageError ? `${error.message}\n` : 'Stopped as asked.\n')
  process.exitCode = stopping.signal.aborted ? 143 : 2
}
