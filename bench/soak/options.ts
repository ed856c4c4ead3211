import { parseArgs } from 'node:util'
import { UsageError } from '../../src/errors/errors.ts'

/** `seed` decides every random choice. Events, changes and faults end after `minutes`; then the mirrors come to rest. */
export type SoakOptions = {
  minutes: number
  seed: string
  queue: 'redis' | 'embedded'
  mirror: 'sqlite' | 'postgres'
  /** How many organizations; undefined: those that are always played. */
  organizations: number | undefined
  keep: boolean
  help: boolean
}

/** Reads the command line. Throws a UsageError for what makes no sense. */
export function readOptions(args: readonly string[], freshSeed: () => string): SoakOptions {
  const values = parsed(args)
  const minutes = Number(values.minutes)
  if (!(minutes >= LEAST_MINUTES && minutes <= MOST_MINUTES))
    throw new UsageError(`--minutes must be a number from ${LEAST_MINUTES} to ${MOST_MINUTES}.\n\n${SOAK_HELP}`)
  const queue = values.queue
  if (queue !== 'redis' && queue !== 'embedded')
    throw new UsageError(`--queue must be redis or embedded.\n\n${SOAK_HELP}`)
  const { mirror, keep, help } = values
  if (mirror !== 'sqlite' && mirror !== 'postgres')
    throw new UsageError(`--mirror must be sqlite or postgres.\n\n${SOAK_HELP}`)
  if (mirror === 'postgres' && queue !== 'redis')
    throw new UsageError(`--mirror postgres needs --queue redis: it is for several workers.\n\n${SOAK_HELP}`)
  const organizations = values.organizations === undefined ? undefined : Number(values.organizations)
  if (organizations !== undefined && !(organizations >= LEAST_PLAYED && organizations <= MOST_PLAYED))
    throw new UsageError(`--organizations must be a number from ${LEAST_PLAYED} to ${MOST_PLAYED}.\n\n${SOAK_HELP}`)
  return { minutes, queue, mirror, organizations, seed: values.seed ?? freshSeed(), keep, help }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        minutes: { type: 'string', default: '10' },
        seed: { type: 'string' },
        queue: { type: 'string', default: 'redis' },
        mirror: { type: 'string', default: 'sqlite' },
        organizations: { type: 'string' },
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
const LEAST_PLAYED = 6
const MOST_PLAYED = 200

export const SOAK_HELP = `npm run soak -- [options]

Kills, freezes and restarts workers and their queue at random, with a service that changes and fails meanwhile. When all is at
rest again, it compares every mirror with its service. Ends with one line, and with 0 where all is right or 1.

  --minutes N        how long, from ${LEAST_MINUTES} to ${MOST_MINUTES}; 10. It ends later where the last readings take longer
  --seed TEXT        what every random choice follows from; a fresh one, which is printed
  --queue KIND       redis: three workers and a redis-server of its own; embedded: one worker with its own queue
  --mirror KIND      sqlite: one file for all workers; postgres: a server of its own, which is killed too, and workers with folders
                     of their own
  --organizations N  how many, from ${LEAST_PLAYED} to ${MOST_PLAYED}; ${LEAST_PLAYED}
  --keep             keep the mirror, the logs and the queue also where all is right
`
