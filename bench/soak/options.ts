import { parseArgs } from 'node:util'
import { UsageError } from '../../src/errors.ts'

/** `seed` decides every random choice. Events, changes and faults end after `minutes`; then the mirrors come to rest. */
export type SoakOptions = { minutes: number; seed: string; queue: 'redis' | 'embedded'; keep: boolean; help: boolean }

/** Reads the command line. Throws a UsageError for what makes no sense. */
export function readOptions(args: readonly string[], freshSeed: () => string): SoakOptions {
  const values = parsed(args)
  const minutes = Number(values.minutes)
  if (!(minutes >= LEAST_MINUTES && minutes <= MOST_MINUTES))
    throw new UsageError(`--minutes must be a number from ${LEAST_MINUTES} to ${MOST_MINUTES}.\n\n${SOAK_HELP}`)
  const queue = values.queue
  if (queue !== 'redis' && queue !== 'embedded')
    throw new UsageError(`--queue must be redis or embedded.\n\n${SOAK_HELP}`)
  return { minutes, queue, seed: values.seed ?? freshSeed(), keep: values.keep, help: values.help }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        minutes: { type: 'string', default: '10' },
        seed: { type: 'string' },
        queue: { type: 'string', default: 'redis' },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${SOAK_HELP}`, { cause: error })
  }
}

const LEAST_MINUTES = 0.2
const MOST_MINUTES = 1440

export const SOAK_HELP = `npm run soak -- [options]

Kills, freezes and restarts workers and their queue at random, with a service that changes and fails meanwhile. When all is at
rest again, it compares every mirror with its service. Ends with one line, and with 0 where all is right or 1.

  --minutes N        how long, from ${LEAST_MINUTES} to ${MOST_MINUTES}; 10. It ends later where the last readings take longer
  --seed TEXT        what every random choice follows from; a fresh one, which is printed
  --queue KIND       redis: three workers and a redis-server of its own; embedded: one worker with its own queue
  --keep             keep the mirror, the logs and the queue also where all is right
`
