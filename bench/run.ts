import { UsageError } from '../src/errors/errors.ts'
import { runBench } from './run-bench.ts'
import { runScoreboard } from './scoreboard/run-scoreboard.ts'
import { runSoak } from './soak/run-soak.ts'
import { runPicture } from './terminal-picture.ts'

// The program of `npm run bench`, `npm run scoreboard`, `npm run soak` and `npm run picture`: its first argument is which.
const RUNS = { bench: runBench, scoreboard: runScoreboard, soak: runSoak, picture: runPicture }

const [, , name = '', ...args] = process.argv
const run = Object.entries(RUNS).find(([each]) => each === name)?.[1]
const stopping = new AbortController()
if (name === 'soak') for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort())
try {
  const { stdout, stderr } = process
  process.exitCode = await run?.(args, { stdout, stderr, signal: stopping.signal })
} catch (error) {
  if (!stopping.signal.aborted && !(error instanceof UsageError)) throw error
  process.stderr.write(error instanceof UsageError ? `${error.message}\n` : 'Stopped as asked.\n')
  process.exitCode = stopping.signal.aborted ? 143 : 2
}
// What is still open, such as a request to a queue that is gone, must not keep it.
setTimeout(() => process.exit(), 10_000).unref()
