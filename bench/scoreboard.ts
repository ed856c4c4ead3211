import { UsageError } from '../src/errors/errors.ts'
import { runScoreboard } from './scoreboard/run-scoreboard.ts'

try {
  process.exitCode = await runScoreboard(process.argv.slice(2), process)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}
