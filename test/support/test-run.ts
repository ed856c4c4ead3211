import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { env } from 'node:process'
import { redisProgram } from '../../bench/redis-server.ts'

/** Files of long tests, `NAME.deep.test.ts`: `NAME.test.ts` beside them tests the main promise in less time. */
const DEEP_FILES = 'test/**/*.deep.test.ts'

/** The files that a run leaves out: none in a deep run. A file that is left out is not to be named on the command line. */
export function notInThisRun({ isDeep, args }: { isDeep: boolean; args: readonly string[] }): string[] {
  if (isDeep) return []
  const named = args.find((arg) => /\.deep\b/.test(arg))
  if (named !== undefined)
    throw new Error(`${named} is only in the deep run: start it with \`npm run test:deep -- ${named}\`.`)
  return [DEEP_FILES]
}

/** The folder that Linux keeps in memory, where it has room for all mirrors of the tests and runs programs: no disk keeps them waiting. */
export function memoryFolder(): string | undefined {
  const folder = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= 2 * 2 ** 30 && runsPrograms(folder) ? folder : undefined
  } catch {
    return undefined
  }
}

/** Containers often allow no program there. */
function runsPrograms(folder: string): boolean {
  const place = mkdtempSync(join(folder, 'customer-mirror-'))
  try {
    writeFileSync(join(place, 'program'), '#!/bin/sh\n', { mode: 0o755 })
    return spawnSync(join(place, 'program')).status === 0
  } finally {
    rmSync(place, { recursive: true })
  }
}

/** The queue that the environment names, else `own`, a server of the PATH, else `embedded`: see CONTRIBUTING.md. */
export function chosenQueue(): string {
  const named = env['CUSTOMER_MIRROR_TEST_QUEUE'] ?? env['REDIS_URL']
  return named ?? (redisProgram() === undefined ? 'embedded' : 'own')
}

/** Tests of what several workers do to one queue, which the embedded one cannot have, or of losing a Redis of their own. */
export function notOnThisQueue(): string[] {
  if (chosenQueue() === 'embedded') return ['test/jobs/shared-queue/**']
  return redisProgram() === undefined ? ['test/jobs/shared-queue/redis-faults.*'] : []
}
